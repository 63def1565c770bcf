/** The short facts beside a report, and the files that came with it. */
import { html } from "../../lib/preact.js";
import { download } from "../../lib/api.js";
import { count, number } from "../../lib/format.js";
import { quote } from "../../lib/query.js";
import { pathTo, queryText } from "../../lib/router.js";
import { Icon } from "../../ui/icon.js";
import { LongText } from "../../ui/text.js";
import { toastError } from "../../ui/toast.js";

/** @typedef {{name: string, value: any, href?: string}} Row */

/** @param {{title: string, rows: Row[]}} props */
function Rows({ title, rows }) {
    const known = rows.filter((row) => row.value !== undefined && row.value !== null && row.value !== "");
    if (!known.length) return null;
    return html`<section><h2>${title}</h2><dl class="pairs">
        ${known.map((row) => html`<div key=${row.name}><dt>${row.name}</dt><dd>${row.href
            ? html`<a href=${row.href}>${String(row.value)}</a>`
            : html`<${LongText} text=${typeof row.value === "object" ? JSON.stringify(row.value) : row.value} most=${300} />`}</dd></div>`)}
    </dl></section>`;
}

/** @param {{title: string, texts: string[]}} props */
function Texts({ title, texts }) {
    if (!texts.length) return null;
    return html`<section><h2>${title}</h2><ul class="texts">${texts.map((text, i) => html`<li key=${i}><${LongText} text=${text} most=${300} /></li>`)}</ul></section>`;
}

/** @param {{project: string, report: import("../../lib/types.js").Report}} props */
export function Facts({ project, report }) {
    const { app = {}, user = {}, issue } = report;
    const list = (/** @type {string} */ key, /** @type {any} */ value) => pathTo(project, "reports") + queryText({ query: `${key}:${quote(String(value))}` });
    const one = (/** @type {string} */ key, /** @type {any} */ value) => (value && String(value).length <= 120 ? list(key, value) : undefined);
    return html`
        <${Rows} title="Report" rows=${[
            { name: "Id", value: report.id },
            { name: "Id of the client", value: report.client_id },
            { name: "Format", value: report.format },
            { name: "App", value: app.id ?? app.name },
            { name: "Environment", value: report.environment, href: one("environment", report.environment) },
            { name: "Architecture", value: report.arch },
            { name: "Run of the app", value: report.run_id },
            { name: "Session", value: report.session_id },
            ...(report.same_crash ?? []).map((id) => ({ name: "Same crash", value: id, href: pathTo(project, "reports", id) })),
        ]} />
        <${Rows} title="User" rows=${Object.entries(user).map(([name, value]) => ({ name, value, href: name === "id" ? one("user", value) : undefined }))} />
        <${Rows} title="Tags" rows=${Object.entries(report.tags ?? {}).map(([name, value]) => ({ name, value }))} />
        <${Texts} title="Why it is in this issue" texts=${issue?.key ?? []} />
        <${Texts} title="Notes" texts=${report.notes ?? []} />`;
}

/** @param {{report: import("../../lib/types.js").Report}} props */
export function Attachments({ report }) {
    const all = report.attachments ?? [];
    if (!all.length) return null;
    return html`<section class="report-part">
        <h2>${count(all.length, "attachment")}</h2>
        <ul class="blocks">${all.map((one, i) => html`<li key=${i}>
            <button type="button" class="linklike" onClick=${() => download(`/reports/${report.id}/attachments/${i}`, {}, one.name).catch(toastError)}><${Icon} name="download" size=${12} /> ${(one.name ?? `attachment ${i}`).slice(0, 200)}</button>
            <span class="muted small"> ${[one.type, one.kind, one.size !== undefined && `${number(one.size)} bytes`].filter(Boolean).join(" · ")}</span>
        </li>`)}</ul>
    </section>`;
}
