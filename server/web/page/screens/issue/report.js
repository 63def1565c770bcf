/** One report of the issue: what happened, its stack with variables, and the way to the next report. */
import { html, useEffect, useState } from "../../lib/preact.js";
import { get } from "../../lib/api.js";
import { copy } from "../../lib/copy.js";
import { crashFrames } from "../../lib/crash.js";
import { number as format, versionText } from "../../lib/format.js";
import { framesText } from "../../lib/frames.js";
import { useKeys } from "../../lib/keys.js";
import { useLoad } from "../../lib/load.js";
import { usePages } from "../../lib/pages.js";
import { pathTo, queryText, setQuery } from "../../lib/router.js";
import { fullTime } from "../../lib/time.js";
import { Icon } from "../../ui/icon.js";
import { CrashBox, Stack } from "../../ui/stack.js";
import { Failure, Skeleton } from "../../ui/state.js";

/** @typedef {import("../../lib/types.js").Report} Report */

/** @param {{report: Report}} props */
function Facts({ report }) {
    const { app = {}, os = {}, device = {}, user = {} } = report;
    const facts = [
        versionText(app.version, app.build) && `${app.name ?? app.id ?? "App"} ${versionText(app.version, app.build)}`,
        [os.name, os.version].filter(Boolean).join(" "), device.model, user.id ?? user.email ?? user.name,
        report.timestamp ? fullTime(report.timestamp) : `received ${fullTime(report.received)}`,
    ].filter(Boolean);
    return html`<p class="report-facts">${facts.map((fact, i) => html`<span key=${i}>${fact}</span>`)}</p>`;
}

/** @param {{number: number, id: string, filter: Record<string, any>, newest?: string, total: number}} props */
function Steps({ number, id, filter, newest, total }) {
    const load = async (/** @type {any} */ page, /** @type {AbortSignal | undefined} */ signal) => {
        const { reports, next_cursor } = await get(`/issues/${number}/reports`, { ...filter, ...page }, signal);
        return { rows: /** @type {{id: string}[]} */ (reports), next: next_cursor, more: null };
    };
    const { data, loadMore } = usePages(`issue/${number}/reports${queryText(filter)}`, load, (row) => row.id);
    const rows = data?.rows ?? [];
    const at = rows.findIndex((/** @type {any} */ row) => row.id === id);
    useEffect(() => {
        // The best-named report may be further back; those before it are needed to step to them.
        if (data?.next && (at < 0 ? rows.length < 500 : at >= rows.length - 2)) loadMore();
    }, [data, at]);
    const to = (/** @type {number} */ i) => () => rows[i] && setQuery({ report: rows[i].id }, { replace: true });
    useKeys([
        { keys: "n", text: "Next (older) report", run: to(at + 1) },
        { keys: "p", text: "Previous (newer) report", run: at > 0 ? to(at - 1) : () => {} },
    ]);
    return html`<div class="steps">
        <button type="button" class="button square small" aria-label="Newer report" title="Newer report (p)" disabled=${at <= 0} onClick=${to(at - 1)}><${Icon} name="left" /></button>
        <span class="small muted nowrap">${at >= 0 ? `${at + 1} of ${format(data?.next ? Math.max(total, rows.length) : rows.length)}` : format(total)}</span>
        <button type="button" class="button square small" aria-label="Older report" title="Older report (n)"
            disabled=${at < 0 || at >= rows.length - 1} onClick=${to(at + 1)}><${Icon} name="right" /></button>
        ${newest && id !== newest && html`<button type="button" class="linklike small" onClick=${() => setQuery({ report: newest }, { replace: true })}>Newest</button>`}
    </div>`;
}

/**
 * @param {{project: string, number: number, id: string, filter: Record<string, any>, newest?: string, total: number, source: any}} props
 */
export function IssueReport({ project, number, id, filter, newest, total, source }) {
    const { data: report, error, reload } = useLoad(`report/${id}`, (signal) => get(`/reports/${id}`, {}, signal));
    const [isAll, setAll] = useState(false);
    const [isOpen, setOpen] = useState(false);
    useKeys([
        { keys: "f", text: "Show or fold system frames", run: () => setAll(!isAll) },
        { keys: "v", text: "Show or hide all variables", run: () => setOpen(!isOpen) },
    ]);
    const frames = report ? crashFrames(report) : [];
    const lackingUuid = frames.find((one) => one.in_app && one.status === "missing_symbol_file")?.image_uuid;
    const lacking = [...new Set(frames.filter((one) => one.in_app && one.status === "missing_symbol_file").map((one) => one.image))];
    const isOfIssue = !report?.issue || report.issue.number === number;
    return html`<section class="report" aria-label="Report">
        <div class="report-head">
            <h2>${id === newest ? "Newest report" : "Report"}</h2>
            <${Steps} number=${number} id=${id} filter=${filter} newest=${newest} total=${total} />
            <span class="grow"></span>
            <a class="button ghost small" href=${pathTo(project, "reports", id)}>All threads</a>
            <button type="button" class="button ghost small" aria-pressed=${String(isAll)} onClick=${() => setAll(!isAll)}>${isAll ? "Fold system frames" : "All frames"}</button>
            <button type="button" class="button ghost small" onClick=${() => copy(framesText(frames), "The stack")} disabled=${!frames.length}><${Icon} name="copy" />Copy</button>
        </div>
        ${error && html`<${Failure} error=${error} retry=${reload} />`}
        ${!report && !error && html`<${Skeleton} rows=${6} />`}
        ${report && html`
            <${CrashBox} report=${report} />
            <${Facts} report=${report} />
            ${!isOfIssue && html`<p class="notice">This report is now part of <a href=${pathTo(project, "issues", report.issue.number)}>#${report.issue.number}</a>.</p>`}
            ${lacking.length > 0 && html`<p class="notice">Frames of ${lacking.join(", ")} have no names: <a href=${pathTo(project, "symbols") + queryText({ uuid: lackingUuid })}>upload the dSYM</a> of exactly this build.</p>`}
            <${Stack} frames=${frames} source=${source} version=${report.app?.version} all=${isAll} openVariables=${isOpen} label="Stack of the crash" />`}
    </section>`;
}
