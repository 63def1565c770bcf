/** JSON of any shape as a tree that opens level by level. */
import { html, useState } from "../lib/preact.js";
import { count } from "../lib/format.js";
import { Icon } from "./icon.js";
import { LongText } from "./text.js";

const SHOWN = 100;
const MAX_DEPTH = 40;

/** @param {any} value */
const entriesOf = (value) => (Array.isArray(value) ? value.map((one, i) => /** @type {[string, any]} */ ([String(i), one])) : Object.entries(value));

/** @param {{name: string, value: any, depth: number, isOpen?: boolean}} props */
function Node({ name, value, depth, isOpen: isOpenFirst = false }) {
    const [isOpen, setOpen] = useState(isOpenFirst);
    const isGroup = typeof value === "object" && value !== null && depth < MAX_DEPTH;
    if (!isGroup) {
        const text = typeof value === "object" ? JSON.stringify(value) : value;
        return html`<li class="tree-leaf"><span class="tree-name">${name}</span> <span class="tree-value"><${LongText} text=${text} most=${500} /></span></li>`;
    }
    const n = Object.keys(value).length;
    return html`<li>
        <button type="button" class="twist" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}>
            <${Icon} name=${isOpen ? "down" : "right"} size=${12} /><span class="tree-name">${name}</span>
            <span class="muted">${count(n, Array.isArray(value) ? "element" : "key")}</span></button>
        ${isOpen && html`<${Tree} value=${value} depth=${depth + 1} />`}
    </li>`;
}

/** @param {{value: any, depth?: number, label?: string}} props */
export function Tree({ value, depth = 0, label }) {
    const [most, setMost] = useState(SHOWN);
    const all = entriesOf(value);
    return html`<ul class="tree" aria-label=${label}>
        ${all.slice(0, most).map(([name, one], i) => html`<${Node} key=${i} name=${name} value=${one} depth=${depth} isOpen=${depth === 0 && all.length <= 4} />`)}
        ${all.length > most && html`<li><button type="button" class="linklike small" onClick=${() => setMost(most * 10)}>${all.length - most} more</button></li>`}
    </ul>`;
}
