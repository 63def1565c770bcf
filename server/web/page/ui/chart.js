/** Lines over time, told apart by dashes and names as well as by colour, with the same numbers as a table. */
import { html, useState } from "../lib/preact.js";

/** @typedef {{name: string, values: (number | undefined)[]}} Line */

const WIDTH = 600, HEIGHT = 160, MOST = 5, STROKE = 24;

/** The line in pieces: a value that is not known leaves a gap, one between two gaps is a short stroke. @param {(number | undefined)[]} values @param {(at: number) => number} x @param {(value: number) => number} y */
function pathOf(values, x, y) {
    let isOn = false;
    return values.map((value, i) => {
        if (value === undefined) return (isOn = false), "";
        const at = `${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
        const isAlone = !isOn && values[i + 1] === undefined;
        const step = isAlone ? `M${at}h${i > 0 ? -STROKE : STROKE}` : `${isOn ? "L" : "M"}${at}`;
        isOn = !isAlone;
        return step;
    }).join("");
}

/** @param {{title: string, labels: string[], lines: Line[], text: (value: number | undefined) => string}} props */
function Table({ title, labels, lines, text }) {
    return html`<div class="chart-table" tabindex="0" role="region" aria-label=${`${title}, as a table`}><table class="plain">
        <caption class="unseen">${title}</caption>
        <thead><tr><th scope="col">From</th>${lines.map((line) => html`<th key=${line.name} scope="col" class="number">${line.name}</th>`)}</tr></thead>
        <tbody>${labels.map((label, i) => html`<tr key=${label}><th scope="row" class="nowrap">${label}</th>
            ${lines.map((line) => html`<td key=${line.name} class="number">${text(line.values[i])}</td>`)}</tr>`)}</tbody>
    </table></div>`;
}

/**
 * @param {{title: string, note?: string, labels: string[], lines: Line[], from?: number, to?: number, text: (value: number | undefined) => string}} props
 *   from, to: the values at the bottom and at the top; without them those of the data
 */
export function Chart({ title, note, labels, lines, from, to, text }) {
    const [isTable, setTable] = useState(false);
    const known = lines.flatMap((line) => line.values).filter((value) => value !== undefined);
    const low = from ?? Math.min(...known), high = Math.max(to ?? Math.max(...known), low + 1e-6);
    const x = (/** @type {number} */ i) => (labels.length < 2 ? WIDTH / 2 : (i * WIDTH) / (labels.length - 1));
    const y = (/** @type {number} */ value) => HEIGHT - 6 - ((value - low) / (high - low)) * (HEIGHT - 12);
    const shown = lines.slice(0, MOST);
    return html`<figure class="chart">
        <figcaption class="chart-head">
            <h2>${title}${note && html` <span class="muted small">${note}</span>`}</h2>
            ${known.length > 0 && html`<button type="button" class="linklike small" aria-pressed=${String(isTable)} aria-label=${`${title} as a table`} onClick=${() => setTable(!isTable)}>${isTable ? "Hide the table" : "Table"}</button>`}
        </figcaption>
        ${known.length === 0
            ? html`<p class="muted small">No sessions in this time.</p>`
            : html`<div class="chart-area">
                <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img"
                    aria-label=${`${title}, ${labels[0]} to ${labels.at(-1)}. Now: ${shown.map((line) => `${line.name} ${text(line.values.at(-1))}`).join(", ")}`}>
                    ${[low, (low + high) / 2, high].map((value) => html`<path key=${value} class="chart-grid" d=${`M0 ${y(value)}H${WIDTH}`} vector-effect="non-scaling-stroke" />`)}
                    ${shown.map((line, i) => html`<path key=${line.name} class=${`chart-line line-${i}`} d=${pathOf(line.values, x, y)} vector-effect="non-scaling-stroke"><title>${line.name}</title></path>`)}
                </svg>
                <span class="chart-high tiny muted" aria-hidden="true">${text(high)}</span><span class="chart-low tiny muted" aria-hidden="true">${text(low)}</span>
            </div>
            <div class="trend-ends muted tiny"><span>${labels[0]}</span><span>${labels.at(-1)}</span></div>
            <ul class="chart-names">${shown.map((line, i) => html`<li key=${line.name}>
                <svg width="24" height="8" aria-hidden="true"><path class=${`chart-line line-${i}`} d="M0 4H24" /></svg>
                <span class="cut">${line.name}</span> <span class="muted">${text(line.values.at(-1))}</span></li>`)}</ul>`}
        ${isTable && html`<${Table} title=${title} labels=${labels} lines=${lines} text=${text} />`}
    </figure>`;
}
