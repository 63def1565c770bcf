/** Registers, with what each one points to, and captured memory as a dump in hexadecimal, each block folded. */
import { html, useState } from "../../lib/preact.js";
import { addressMeaning } from "../../lib/crash.js";
import { count, number } from "../../lib/format.js";
import { addressPlace } from "../../lib/report.js";
import { Icon } from "../../ui/icon.js";
import { LongText } from "../../ui/text.js";
import { Tree } from "../../ui/tree.js";

/** @param {{report: import("../../lib/types.js").Report, thread: import("../../lib/types.js").Thread}} props */
export function Registers({ report, thread }) {
    const [isOpen, setOpen] = useState(false);
    const all = Object.entries(thread.registers ?? {});
    if (!all.length) return null;
    const meaning = (/** @type {string} */ value) => addressPlace(report, thread, value) || (value === "0x0" ? "" : addressMeaning(value, { arch: report.arch }).split(":")[0].replace(/^not an.*/, ""));
    return html`
        <button type="button" class="fold-button registers-button" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}>
            <${Icon} name=${isOpen ? "down" : "right"} size=${12} />${count(all.length, "register")}</button>
        ${isOpen && html`<dl class="registers">
            ${all.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${String(value)} <span class="muted">${meaning(String(value))}</span></dd></div>`)}
        </dl>
        ${thread.notable_addresses && html`<div class="registers-more"><${Tree} value=${{ "notable addresses": thread.notable_addresses }} label="Notable addresses" /></div>`}`}`;
}

const WIDTH = 16;

/** "0x16f0ffa60  00 01 02 …  ..." by lines. @param {string | undefined} address @param {string} base64 */
function dump(address, base64) {
    let bytes;
    let from;
    try {
        bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
        from = BigInt(address ?? 0);
    } catch {
        return "these bytes cannot be read";
    }
    const lines = [];
    for (let at = 0; at < bytes.length; at += WIDTH) {
        const row = [...bytes.slice(at, at + WIDTH)];
        const hex = row.map((one) => one.toString(16).padStart(2, "0")).join(" ");
        const text = row.map((one) => (one >= 32 && one < 127 ? String.fromCharCode(one) : ".")).join("");
        lines.push(`0x${(from + BigInt(at)).toString(16).padStart(12, "0")}  ${hex.padEnd(3 * WIDTH - 1)}  ${text}`);
    }
    return lines.join("\n");
}

/** @param {{name: string, block: import("../../lib/types.js").Memory}} props */
function Block({ name, block }) {
    const [isOpen, setOpen] = useState(false);
    const text = `${block.address ?? ""} · ${block.size === undefined ? "" : number(block.size)} bytes${block.truncated ? " (cut)" : ""}`;
    return html`<li>
        ${block.bytes
            ? html`<button type="button" class="twist" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}>
                <${Icon} name=${isOpen ? "down" : "right"} size=${12} /><span class="mono">${text}</span></button>`
            : html`<span class="twist-space mono">${text}</span>`}
        <span class="muted"> ${name}<${LongText} text=${block.why ? ` ${block.why}` : ""} most=${200} /></span>
        ${isOpen && block.bytes && html`<pre class="dump" tabindex="0" aria-label=${`Memory at ${block.address}`}>${dump(block.address, block.bytes)}</pre>`}
    </li>`;
}

/** @param {{report: import("../../lib/types.js").Report}} props */
export function Memory({ report }) {
    const [most, setMost] = useState(20);
    const all = [
        ...(report.threads ?? []).filter((one) => one.stack).map((one) => ({ name: `stack of thread ${one.index}`, block: one.stack })),
        ...(report.memory ?? []).map((block) => ({ name: "", block })),
    ];
    if (!all.length) return null;
    const hasBytes = all.some((one) => one.block?.bytes);
    return html`<section class="report-part">
        <h2>${count(all.length, "block")} of memory</h2>
        ${!hasBytes && html`<p class="muted small">Only where it was is kept: values of variables were read from it, its bytes were not stored.</p>`}
        <ul class="blocks">${all.slice(0, most).map(({ name, block }, i) => html`<${Block} key=${i} name=${name} block=${block} />`)}</ul>
        ${all.length > most && html`<button type="button" class="linklike small" onClick=${() => setMost(most + 200)}>${count(all.length - most, "more block", "more blocks")}</button>`}
    </section>`;
}
