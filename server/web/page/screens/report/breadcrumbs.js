/** What the app did before the crash, as a timeline that counts back from it. */
import { html, useState } from "../../lib/preact.js";
import { count } from "../../lib/format.js";
import { fullTime } from "../../lib/time.js";
import { LongText } from "../../ui/text.js";
import { Tree } from "../../ui/tree.js";

const SHOWN = 30;

/** Clients write seconds, milliseconds, or a text. @param {any} value */
function timeOf(value) {
    if (typeof value === "number") return value > 1e11 ? value : value * 1000;
    return typeof value === "string" ? Date.parse(value) : NaN;
}

/** "2.4 s before". @param {number} ms */
function before(ms) {
    if (Number.isNaN(ms)) return "";
    const side = ms < 0 ? "after" : "before";
    const s = Math.abs(ms) / 1000;
    if (s < 60) return `${s.toFixed(s < 10 ? 1 : 0)} s ${side}`;
    if (s < 3600) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s ${side}`;
    return s < 86400 ? `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min ${side}` : `${Math.floor(s / 86400)} d ${side}`;
}

const KNOWN = new Set(["timestamp", "time", "type", "category", "level", "message", "name", "data", "metaData"]);

/** @param {any} value */
const textOf = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));

/** @param {{crumb: any, crashed: number}} props */
function Crumb({ crumb, crashed }) {
    const one = typeof crumb === "object" && crumb !== null ? crumb : { message: crumb };
    const at = timeOf(one.timestamp ?? one.time);
    const own = one.data ?? one.metaData ?? {};
    const data = { ...(typeof own === "object" ? own : { data: own }), ...Object.fromEntries(Object.entries(one).filter(([name]) => !KNOWN.has(name))) };
    const kind = [...new Set([one.category, one.type].filter((text) => typeof text === "string" && text !== "default"))].join(" · ");
    return html`<li class=${`crumb ${["error", "fatal"].includes(one.level) ? "bad" : ""}`}>
        <span class="crumb-at muted" title=${Number.isNaN(at) ? undefined : fullTime(at)}>${before(crashed - at)}</span>
        <div class="crumb-body">
            ${kind && html`<span class="crumb-kind">${kind}</span>`}
            ${one.level && one.level !== "info" && html`<span class="crumb-kind">${String(one.level)}</span>`}
            <span><${LongText} text=${textOf(one.message ?? one.name ?? "")} most=${400} /></span>
            ${Object.keys(data).length > 0 && html`<${Tree} value=${{ data }} label="Data" />`}
        </div>
    </li>`;
}

/** @param {{report: import("../../lib/types.js").Report}} props */
export function Breadcrumbs({ report }) {
    const [isAll, setAll] = useState(false);
    const all = Array.isArray(report.breadcrumbs) ? report.breadcrumbs : [];
    if (!all.length) return null;
    const shown = isAll ? all : all.slice(-SHOWN);
    const crashed = Date.parse(report.timestamp ?? "");
    return html`<section class="report-part">
        <h2>${count(all.length, "breadcrumb")}</h2>
        ${all.length > shown.length && html`<button type="button" class="linklike small" onClick=${() => setAll(true)}>${count(all.length - shown.length, "earlier one", "earlier ones")}</button>`}
        <ol class="crumbs">
            ${shown.map((crumb, i) => html`<${Crumb} key=${all.length - shown.length + i} crumb=${crumb} crashed=${crashed} />`)}
            <li class="crumb end"><span class="crumb-at"></span><div class="crumb-body">${report.kind && report.kind !== "crash" ? "the report" : "the crash"}</div></li>
        </ol>
    </section>`;
}
