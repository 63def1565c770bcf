/** A trend as a chart of bars, with the same numbers as a table. */
import { html, useState } from "../lib/preact.js";
import { count, number } from "../lib/format.js";
import { date, fullTime } from "../lib/time.js";

const HEIGHT = 64;
const DAY_MS = 86400e3;

/** @param {number} at @param {number} step */
const partText = (at, step) => (step >= DAY_MS ? date(at) : fullTime(at));
const LONG_MS = 3 * DAY_MS;

/** @param {{values: number[], start: string, step: number}} props step: ms */
export function Trend({ values, start, step }) {
    const [isTable, setTable] = useState(false);
    const most = Math.max(1, ...values);
    const from = Date.parse(start);
    const wide = 100 / Math.max(1, values.length);
    const endText = step * values.length > LONG_MS ? date : fullTime;
    const sum = values.reduce((all, one) => all + one, 0);
    return html`<figure class="trend">
        <figcaption class="trend-head">
            <span class="muted small">${count(sum, "report")}${sum > 0 && ` · peak ${number(most)}`}</span>
            <button type="button" class="linklike small" aria-pressed=${String(isTable)} onClick=${() => setTable(!isTable)}>${isTable ? "Hide the table" : "Table"}</button>
        </figcaption>
        <svg class="trend-chart" viewBox=${`0 0 100 ${HEIGHT}`} preserveAspectRatio="none" role="img"
            aria-label=${`Reports from ${date(from)} to ${date(from + step * values.length)}: ${sum}`}>
            <path class="sparkline-base" d=${`M0 ${HEIGHT - 0.5}H100`} vector-effect="non-scaling-stroke" />
            ${values.map((value, i) => html`<rect key=${i} x=${i * wide + wide * 0.1} width=${wide * 0.8}
                y=${HEIGHT - (value / most) * (HEIGHT - 4)} height=${(value / most) * (HEIGHT - 4)}>
                <title>${`${partText(from + i * step, step)}: ${count(value, "report")}`}</title></rect>`)}
        </svg>
        <div class="trend-ends muted tiny"><span>${endText(from)}</span><span>${endText(from + step * values.length)}</span></div>
        ${isTable && html`<div class="trend-table"><table class="plain">
            <thead><tr><th scope="col">From</th><th scope="col" class="number">Reports</th></tr></thead>
            <tbody>${values.map((value, i) => html`<tr key=${i}><td>${partText(from + i * step, step)}</td><td class="number">${number(value)}</td></tr>`)}</tbody>
        </table></div>`}
    </figure>`;
}
