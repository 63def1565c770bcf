/** One report with everything that is in it: all threads first, then images, breadcrumbs and the rest. */
import { html, useEffect, useState } from "../lib/preact.js";
import { get } from "../lib/api.js";
import { useKeys } from "../lib/keys.js";
import { useLive } from "../lib/live.js";
import { useLoad } from "../lib/load.js";
import { go, pathTo } from "../lib/router.js";
import { useSource } from "../lib/source.js";
import { ReportActions } from "./report/actions.js";
import { Breadcrumbs } from "./report/breadcrumbs.js";
import { Attachments, Facts } from "./report/facts.js";
import { ReportHead } from "./report/head.js";
import { Images } from "./report/images.js";
import { Memory } from "./report/memory.js";
import { Threads } from "./report/threads.js";
import { CrashBox } from "../ui/stack.js";
import { LongText } from "../ui/text.js";
import { Icon } from "../ui/icon.js";
import { Failure, Skeleton } from "../ui/state.js";
import { Tree } from "../ui/tree.js";

// Reports of one millisecond are in the order of their ids; so many are looked through for this one.
const NEAR = 50;

/** The reports before and after this one. @param {import("../lib/types.js").Report} report @param {AbortSignal} signal */
async function neighbours({ id, received, issue }, signal) {
    const at = Date.parse(received);
    const near = async (/** @type {any} */ how) => {
        const { reports } = await get("/reports", { issue: issue?.number, limit: NEAR, ...how }, signal);
        const ids = reports.map((/** @type {{id: string}} */ one) => one.id);
        return ids[ids.indexOf(id) + 1];
    };
    const [older, newer] = await Promise.all([
        near({ until: new Date(at + 1).toISOString() }),
        near({ since: new Date(at).toISOString(), sort: "received" }),
    ]);
    return { older, newer };
}

/** @param {{project: string, report: import("../lib/types.js").Report}} props */
export function Steps({ project, report }) {
    const hasIssue = !!report.issue?.number;
    const { data } = useLoad(hasIssue ? `steps/${report.id}` : null, (signal) => neighbours(report, signal));
    const to = (/** @type {string | undefined} */ id) => () => id && go(pathTo(project, "reports", id));
    useKeys([
        { keys: "n", text: "Next (older) report of the issue", run: to(data?.older) },
        { keys: "p", text: "Previous (newer) report of the issue", run: to(data?.newer) },
    ]);
    if (!hasIssue) return null;
    const link = (/** @type {string | undefined} */ id, /** @type {string} */ text, /** @type {string} */ icon, /** @type {string} */ key) => html`<button type="button"
        class="button square small" aria-label=${`${text} report of the issue`} title=${`${text} report of the issue (${key})`} disabled=${!id} onClick=${to(id)}><${Icon} name=${icon} /></button>`;
    return html`<div class="steps">
        <span class="small muted">Reports of the issue</span>
        ${link(data?.newer, "Newer", "left", "p")}
        ${link(data?.older, "Older", "right", "n")}
    </div>`;
}

/** @typedef {import("../lib/types.js").Report} Report */

const QUEUED_MS = 2000;
const MISSING_MS = 10000;

/** How soon it is asked for again: until it is read, and while it waits for symbol files. @param {Report | undefined} report */
const freshMs = (report) => (report?.status === "queued" ? QUEUED_MS : report?.missing?.length ? MISSING_MS : 0);

/** What is wrong with a report, and what helps. @param {{project: string, report: Report}} props */
function Notices({ project, report }) {
    const missing = report.missing ?? [];
    const names = missing.slice(0, 3).map((one) => one.name ?? one.uuid).join(", ") + (missing.length > 3 ? ` and ${missing.length - 3} more` : "");
    return html`
        ${report.status === "queued" && html`<p class="notice" role="status">A worker has not read this report yet; what it contains appears here as soon as one has.</p>`}
        ${report.error && html`<p class="notice">It could not be read: <${LongText} text=${report.error} /></p>`}
        ${missing.length > 0 && html`<p class="notice">Names of ${names} are missing. <a href=${`${pathTo(project, "symbols")}?uuid=${encodeURIComponent(missing[0].uuid ?? "")}`}>What to upload</a></p>`}
        ${report.variables === "hidden" && html`<p class="notice">This report has values of variables or memory. You may not see them: that takes the scope <code>variables</code>.</p>`}`;
}

/** @param {{title: string, value: any}} props */
function Data({ title, value }) {
    if (!value || !Object.keys(value).length) return null;
    return html`<section class="report-part"><h2>${title}</h2><${Tree} value=${value} label=${title} /></section>`;
}

/** What is known apart from the columns of the page. @param {Report} report */
function otherData({ app, os, device, user, process, capture }) {
    return Object.fromEntries(Object.entries({ app, os, device, user, process, capture }).filter(([, value]) => value && Object.keys(value).length));
}

/** @param {{project: string, route: import("../lib/router.js").Route}} props */
export function Screen({ project, route }) {
    const id = route.item;
    const { data, error, isLoading, reload } = useLoad(`report/${id}`, (signal) => get(`/reports/${encodeURIComponent(id)}`, {}, signal));
    const report = /** @type {Report | undefined} */ (data);
    const [, sourceChanged] = useState(0);
    const source = useSource(project);
    const back = pathTo(project, "reports");
    useLive({ reload, isLoading }, () => true, /report.changed/, freshMs(report));
    useKeys([{ keys: "u", text: "All reports", run: () => go(back) }]);
    useEffect(() => {
        document.title = `Report ${id.slice(0, 8)} – ${project} – framezero`;
    }, [id]);
    if (error && !report) {
        return html`<a class="back" href=${back}><${Icon} name="left" />Reports</a>
            <h1 class="unseen">Report</h1><${Failure} error=${error} retry=${error.status === 404 ? undefined : reload} />`;
    }
    if (!report) return html`<h1 class="unseen">Report</h1><${Skeleton} rows=${10} />`;
    return html`<div class="report-screen">
        <div class="issue-bar">
            <a class="back" href=${back}><${Icon} name="left" />Reports</a>
            <span class="grow"></span>
            <${Steps} project=${project} report=${report} />
        </div>
        <div class="issue-top">
            <${ReportHead} project=${project} report=${report} />
            <${ReportActions} project=${project} report=${report} sourceChanged=${() => sourceChanged((n) => n + 1)} />
        </div>
        <div class="issue-columns">
            <div class="issue-main">
                <div class="report">
                    ${report.threads && html`<${CrashBox} report=${report} />`}
                    <div class="report-notices"><${Notices} project=${project} report=${report} /></div>
                    ${report.threads && html`<${Threads} key=${report.id} project=${project} report=${report} source=${source} />`}
                </div>
                <${Breadcrumbs} report=${report} />
                <${Images} project=${project} report=${report} />
                <${Memory} report=${report} />
                <${Attachments} report=${report} />
                <${Data} title="More data" value=${report.extra} />
                <${Data} title="App, system and device" value=${otherData(report)} />
            </div>
            <aside class="issue-aside" aria-label="About this report"><${Facts} project=${project} report=${report} /></aside>
        </div>
    </div>`;
}
