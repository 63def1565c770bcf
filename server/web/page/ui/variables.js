/** Variables as a debugger shows them: a tree of names, types and values, with words where there is no value. */
import { html, useState } from "../lib/preact.js";
import { count } from "../lib/format.js";
import { Icon } from "./icon.js";

/** @typedef {import("../lib/types.js").Variable} Variable */

/** @type {Record<string, string>} */
const WORDS = {
    entry_value: "at the call",
    partial: "partly known",
    optimized_out: "optimised out",
    register_not_recoverable: "its register was overwritten",
    memory_not_captured: "its memory was not captured",
    unsupported: "not supported",
    no_debug_info: "no debug information",
    redacted: "hidden",
    limit: "cut: too much",
};

/** @param {string | undefined} availability */
export const availabilityText = (availability) => (!availability || availability === "available" ? "" : WORDS[availability] ?? availability.replaceAll("_", " "));

/** What is below a variable: of a pointer, the members of what it points to. @param {Variable} variable */
function fieldsOf({ value, fields = [] }) {
    const [only] = fields;
    return value !== undefined && fields.length === 1 && only.name === "*" && only.fields?.length ? only.fields : fields;
}

/** @param {{variable: Variable, depth: number}} props */
function Row({ variable, depth }) {
    const fields = fieldsOf(variable);
    const [isOpen, setOpen] = useState(depth === 0 && fields.length > 0 && fields.length <= 8);
    const word = availabilityText(variable.availability);
    const indent = { paddingLeft: `${depth * 1.1}rem` };
    return html`
        <div class="var" role="row">
            <div class="var-name" role="cell" style=${indent}>
                ${fields.length > 0
                    ? html`<button type="button" class="twist" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}>
                        <${Icon} name=${isOpen ? "down" : "right"} size=${12} /><span>${variable.name}</span></button>`
                    : html`<span class="twist-space">${variable.name}</span>`}
            </div>
            <div class="var-value" role="cell">
                ${variable.value !== undefined && html`<span class="value">${variable.value}</span>`}
                ${variable.value === undefined && !word && fields.length > 0 && !isOpen && html`<span class="muted">{ ${count(fields.length, "field")} }</span>`}
                ${word && html`<span class="var-word">${word}</span>`}
                ${variable.stale && html`<span class="var-word" title="The compiler may have left an older value there">may be old</span>`}
            </div>
            <div class="var-type cut" role="cell" title=${variable.type}>${variable.type}</div>
        </div>
        ${isOpen && fields.map((field, i) => html`<${Row} key=${i} variable=${field} depth=${depth + 1} />`)}
        ${isOpen && variable.fields_cut && html`<div class="var" role="row"><div role="cell" class="muted small" style=${{ paddingLeft: `${(depth + 1) * 1.1 + 1}rem` }}>and ${variable.fields_cut} more</div></div>`}`;
}

/** @param {{symbol: import("../lib/types.js").Sym}} props */
export function Variables({ symbol }) {
    const all = symbol.variables ?? [];
    if (!all.length) return null;
    return html`<div class="vars" role="table" aria-label=${`Variables of ${symbol.function ?? "this frame"}`}>
        ${all.map((variable, i) => html`<${Row} key=${i} variable=${variable} depth=${0} />`)}
        ${symbol.variables_cut && html`<div class="var" role="row"><div role="cell" class="muted small">and ${symbol.variables_cut} more</div></div>`}
    </div>`;
}
