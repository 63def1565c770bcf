/** How long the project keeps what was sent: the limits, what is stored, what a change would delete, and a sweep that waits. */
import { html, useState } from "../../lib/preact.js";
import { get, post, request } from "../../lib/api.js";
import { number } from "../../lib/format.js";
import { changed, useLoad } from "../../lib/load.js";
import { fullTime } from "../../lib/time.js";
import { attempt, Field, Form } from "../../ui/form.js";
import { Failure, Skeleton } from "../../ui/state.js";
import { toast } from "../../ui/toast.js";

/**
 * @typedef {{n: number, bytes: number}} Stored
 * @typedef {{reports: number, bodies: Stored, results: Stored, memory: Stored, symbols: Stored, bytes: number, estimated: boolean}} Use
 * @typedef {{n: number, reports_by_age: number, reports_thinned_out: number, bodies: number, memory: number, symbols: number, bytes: number,
 *   samples_kept: number, symbols_exceed_bytes: boolean, estimated: boolean}} Due
 * @typedef {{keep_reports_days: number, keep_reports: number, keep_samples: boolean, keep_bodies_days: number, keep_symbols_days: number,
 *   keep_bytes: number}} Settings
 * @typedef {Settings & {use: Use, due: Due, swept?: string, waits?: {since: string, n: number}}} Retention
 */

const MEGABYTE = 1048576;
const NUMBERS = /** @type {const} */ ([
    ["keep_reports_days", "Days until reports are deleted"], ["keep_reports", "Reports that stay at most; those of frequent issues go first"],
    ["keep_bodies_days", "Days until reports as they were sent are deleted"], ["keep_symbols_days", "Days until symbol files are deleted that no report needs"],
    ["keep_bytes", "Megabytes that the project stores at most"],
]);

/** @param {number} bytes */
function megabytes(bytes) {
    const tenths = Math.round((bytes / MEGABYTE) * 10);
    return `${number(Math.floor(tenths / 10))}${tenths % 10 ? `.${tenths % 10}` : ""} MB`;
}

/** @param {{use: Use}} props */
function UseTable({ use }) {
    const rows = /** @type {[string, Stored][]} */ ([["Reports as they were sent", use.bodies], ["Symbolicated reports", use.results], ["Memory", use.memory], ["Symbol files", use.symbols]]);
    return html`<table><caption class="unseen">What is stored</caption>
        <thead><tr><th scope="col">Stored</th><th scope="col">Number</th><th scope="col">Size${use.estimated ? ", estimated" : ""}</th></tr></thead>
        <tbody>${rows.map(([name, { n, bytes }]) => html`<tr key=${name}><th scope="row">${name}</th><td>${number(n)}</td><td>${megabytes(bytes)}</td></tr>`)}</tbody></table>`;
}

/** @param {{due: Due, reports: number}} props */
function DueText({ due, reports }) {
    const parts = /** @type {[number, string][]} */ ([
        [due.reports_by_age, `of ${number(reports)} reports by age`], [due.reports_thinned_out, "reports of frequent issues"],
        [due.bodies, "reports as they were sent"], [due.memory, "memory of reports"], [due.symbols, "symbol files"]]).filter(([n]) => n);
    return html`<div class="due" role="status">
        ${parts.length ? html`<p>It would delete${due.estimated ? ", estimated" : ""}, about ${megabytes(due.bytes)}:</p><ul>${parts.map(([n, text]) => html`<li key=${text}>${number(n)} ${text}</li>`)}</ul>`
            : html`<p>It would delete nothing.</p>`}
        ${due.symbols_exceed_bytes && html`<p>Symbol files that are in use need more than that alone.</p>`}</div>`;
}

/** @param {{project: string, data: Retention}} props */
function RetentionForm({ project, data }) {
    const [now, setNow] = useState(() => Object.fromEntries(NUMBERS.map(([name]) =>
        [name, String((name === "keep_bytes" ? Math.round(data.keep_bytes / MEGABYTE) : data[name]) || "")])));
    const [samples, setSamples] = useState(data.keep_samples);
    const [preview, setPreview] = useState(/** @type {Retention | null} */ (null));
    const numbers = () => Object.fromEntries(NUMBERS.map(([name]) => [name, (Number(now[name]) || 0) * (name === "keep_bytes" ? MEGABYTE : 1)]));
    const set = (/** @type {string} */ name, /** @type {string} */ text) => {
        setNow({ ...now, [name]: text });
        setPreview(null);
    };
    const look = () => attempt(async () => setPreview(await get("/project/retention", { ...numbers(), keep_samples: samples ? "1" : "0" })));
    const send = async () => {
        await request("PUT", "/project", { body: { ...numbers(), keep_samples: samples } });
        changed(`retention/${project}`);
        toast("It counts from the next sweep on");
    };
    return html`<${Form} text="Save" send=${send}>
        <p class="small muted">An empty field is no limit.</p>
        ${NUMBERS.map(([name, label]) => html`<${Field} key=${name} label=${label} type="number" min="0" inputmode="numeric" value=${now[name]}
            set=${(/** @type {string} */ text) => set(name, text)} />`)}
        <label class="check"><input type="checkbox" checked=${samples} onChange=${(/** @type {any} */ event) => (setSamples(event.target.checked), setPreview(null))} />
            <span>Each issue keeps its first, newest and best named report for longer</span></label>
        <div class="buttons"><button type="button" class="button" onClick=${look}>Preview</button></div>
        ${preview && html`<${DueText} due=${preview.due} reports=${preview.use.reports} />`}<//>`;
}

/** @param {{project: string}} props */
export function Retention({ project }) {
    const { data, error, reload } = useLoad(`retention/${project}`, (signal) => get("/project/retention", {}, signal));
    if (error && !data) return html`<${Failure} error=${error} retry=${reload} />`;
    if (!data) return html`<${Skeleton} />`;
    const retention = /** @type {Retention} */ (data);
    const confirm = () => attempt(() => post("/project/retention/confirm", { n: retention.waits?.n ?? 0 }), "The sweep goes on").then(() => changed(`retention/${project}`));
    return html`<p class="muted">Counts and charts of issues stay when reports are deleted.</p>
        ${retention.waits && html`<div class="form-error" role="alert"><p>A sweep would delete ${number(retention.waits.n)} things, which is more than a fifth. It waits since
            ${" "}${fullTime(retention.waits.since)} for somebody to confirm it.</p>
            <p><button type="button" class="button danger" onClick=${confirm}>Delete them</button></p></div>`}
        <${UseTable} use=${retention.use} />
        <${RetentionForm} key=${project} project=${project} data=${retention} />`;
}
