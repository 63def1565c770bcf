/** The images of a report with the state of their symbols: those that a frame is in first. */
import { html, useState } from "../../lib/preact.js";
import { count, number } from "../../lib/format.js";
import { pathTo } from "../../lib/router.js";
import { Badge } from "../../ui/badge.js";

/** @typedef {import("../../lib/types.js").Image} Image */

/** @type {Record<string, {order: number, text: string, kind: "red"|"amber"|"green"|"grey"}>} */
const STATES = {
    missing: { order: 0, text: "missing", kind: "red" },
    failed: { order: 1, text: "cannot be used", kind: "amber" },
    found: { order: 2, text: "found", kind: "green" },
    unused: { order: 3, text: "not needed", kind: "grey" },
};
const SHOWN = 20;

/** @param {string | undefined} text */
const value = (text) => {
    try {
        return BigInt(text ?? 0);
    } catch {
        return 0n;
    }
};
const order = (/** @type {Image} */ one) => STATES[one.symbols ?? ""]?.order ?? 9;
const byAddress = (/** @type {Image} */ a, /** @type {Image} */ b) => (value(a.address) < value(b.address) ? -1 : value(a.address) > value(b.address) ? 1 : 0);

/** @type {{name: string, text: string, class?: string, compare: (a: Image, b: Image) => number}[]} */
const COLUMNS = [
    { name: "symbols", text: "Symbols", compare: (a, b) => order(a) - order(b) || byAddress(a, b) },
    { name: "name", text: "Image", compare: (a, b) => (a.name ?? "").localeCompare(b.name ?? "") },
    { name: "address", text: "Address", class: "wide-only", compare: byAddress },
    { name: "size", text: "Size", class: "number wide-only", compare: (a, b) => (b.size ?? 0) - (a.size ?? 0) },
];

/** @param {{project: string, image: Image}} props */
function ImageRow({ project, image }) {
    const state = STATES[image.symbols ?? ""];
    const href = `${pathTo(project, "symbols")}?uuid=${encodeURIComponent(image.uuid ?? "")}`;
    return html`<tr>
        <td class="nowrap">${state && html`<${Badge} kind=${state.kind}>${state.text}<//>`}</td>
        <td><strong>${image.name ?? "–"}</strong> <span class="muted">${[image.version, image.arch].filter(Boolean).join(" · ")}</span>
            ${image.uuid && html`<div class="mono tiny">${image.symbols === "missing" ? html`<a href=${href}>${image.uuid}: upload its dSYM</a>` : html`<span class="muted">${image.uuid}</span>`}</div>`}
            ${image.path && html`<div class="muted tiny image-path" title=${image.path.slice(0, 1000)}>${image.path.slice(0, 300)}</div>`}</td>
        <td class="mono wide-only nowrap">${image.address}</td>
        <td class="number wide-only">${image.size ? number(image.size) : ""}</td>
    </tr>`;
}

/** @param {{project: string, report: import("../../lib/types.js").Report}} props */
export function Images({ project, report }) {
    const [sort, setSort] = useState("symbols");
    const [filter, setFilter] = useState("");
    const [most, setMost] = useState(SHOWN);
    const all = report.images ?? [];
    if (!all.length) return null;
    const wanted = filter.trim().toLowerCase();
    const matching = all.filter((one) => !wanted || [one.name, one.uuid, one.path, one.symbols].some((text) => text?.toLowerCase().includes(wanted)));
    const sorted = [...matching].sort(COLUMNS.find((one) => one.name === sort)?.compare);
    return html`<section class="report-part">
        <div class="part-head">
            <h2>${count(all.length, "binary image")}</h2>
            ${all.length > 5 && html`<input type="search" aria-label="Filter the images" placeholder="Name, UUID, path" value=${filter}
                onInput=${(/** @type {any} */ event) => setFilter(event.target.value)} />`}
        </div>
        <table class="plain images">
            <thead><tr>${COLUMNS.map((one) => html`<th key=${one.name} scope="col" class=${one.class} aria-sort=${sort === one.name ? "ascending" : "none"}>
                <button type="button" class="head-button" onClick=${() => setSort(one.name)}>${one.text}</button></th>`)}</tr></thead>
            <tbody>${sorted.slice(0, most).map((image, i) => html`<${ImageRow} key=${`${image.uuid}${i}`} project=${project} image=${image} />`)}</tbody>
        </table>
        ${!sorted.length && html`<p class="muted small">No image contains “${filter}”.</p>`}
        ${sorted.length > most && html`<button type="button" class="linklike small" onClick=${() => setMost(most === SHOWN ? 500 : most + 500)}>${count(sorted.length - most, "more image", "more images")}</button>`}
    </section>`;
}
