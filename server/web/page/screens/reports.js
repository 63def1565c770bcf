/** All reports that a query finds, the newest first. */
import { html, useEffect, useLayoutEffect, useRef, useState } from "../lib/preact.js";
import { get } from "../lib/api.js";
import { crashMeaning } from "../lib/crash.js";
import { versionText } from "../lib/format.js";
import { placeOf } from "../lib/frames.js";
import { useKeys } from "../lib/keys.js";
import { useLive } from "../lib/live.js";
import { prefetch } from "../lib/load.js";
import { usePages } from "../lib/pages.js";
import { kindText } from "../lib/report.js";
import { pathTo, go, queryText, setQuery } from "../lib/router.js";
import { focusRow } from "./issues/list.js";
import { StatusBadge } from "./report/head.js";
import { Badge } from "../ui/badge.js";
import { QueryBox } from "../ui/query_box.js";
import { Empty, Failure, Skeleton } from "../ui/state.js";
import { TimeRange, rangeText } from "../ui/time_range.js";
import { VirtualRows } from "../ui/virtual.js";
import { Age } from "../ui/text.js";

/** @param {import("../lib/types.js").ReportRow} report */
function titleOf(report) {
    const { what } = crashMeaning(/** @type {any} */ (report));
    return report.top?.function ?? report.crash?.reason ?? (report.crash ? what : kindText(report.kind ?? "Report"));
}

/**
 * @param {{project: string, report: import("../lib/types.js").ReportRow, index: number, isCurrent: boolean, enter: () => void, hover: () => void}} props
 */
export function ReportRow({ project, report, index, isCurrent, enter, hover }) {
    const { app = {}, os = {}, device = {}, user = {}, crash = {} } = report;
    const version = versionText(app.version, app.build);
    const what = [crash.exception ?? crash.signal ?? crash.mach, report.top && placeOf(report.top)].filter(Boolean).join(" · ");
    const seen = html`<${Age} at=${report.received} isColumn />`;
    return html`<div class="issue-row report-row" role="row" aria-rowindex=${index + 2} onPointerEnter=${hover}>
        <div role="cell" class="issue-name">
            <a class="issue-link cut" href=${pathTo(project, "reports", report.id)} data-index=${index} onFocus=${enter} tabindex=${isCurrent ? 0 : -1}>${titleOf(report).slice(0, 300)}</a>
            <div class="issue-facts">
                ${report.status !== "symbolicated" && html`<${StatusBadge} status=${report.status} />`}
                ${report.kind && report.kind !== "crash" && html`<${Badge} kind="amber">${kindText(report.kind)}<//>`}
                ${report.same_as && html`<${Badge} title="The same crash came in another report, which is counted">counted elsewhere<//>`}
                <span class="cut">${what}</span>
                <span class="issue-brief">${[version, device.model].filter(Boolean).join(" · ")} · ${seen}</span>
            </div>
        </div>
        <div role="cell" class="report-c1 cut">${version}</div>
        <div role="cell" class="report-c2 cut">${[os.name, os.version].filter(Boolean).join(" ")}</div>
        <div role="cell" class="report-c3 cut">${device.model}</div>
        <div role="cell" class="report-c4 cut">${user.id ?? user.email ?? user.name}</div>
        <div role="cell" class="report-c5 nowrap">${seen}</div>
    </div>`;
}

/** @typedef {import("../lib/types.js").ReportRow} Row */

const STATES = [
    { status: "", text: "All" },
    { status: "symbolicated", text: "All names" },
    { status: "partial", text: "Some names" },
    { status: "unsymbolicated", text: "No names" },
    { status: "failed", text: "Failed" },
];

/** @param {Record<string, any>} filter */
function useReports(filter) {
    const load = async (/** @type {any} */ page, /** @type {AbortSignal | undefined} */ signal) => {
        const { reports, next_cursor } = await get("/reports", { ...filter, ...page }, signal);
        return { rows: /** @type {Row[]} */ (reports), next: next_cursor, more: null };
    };
    const loaded = usePages(`reports?${queryText(filter)}`, load, (row) => row.id);
    const last = useRef(loaded.data);
    if (loaded.data) last.current = loaded.data;
    return { ...loaded, shown: loaded.data ?? last.current, isStale: !loaded.data && loaded.isLoading };
}

/** @param {{project: string, filter: Record<string, any>}} props */
function NoReports({ project, filter }) {
    const isNarrow = filter.query || filter.since || filter.until || filter.status;
    return html`<${Empty} title=${isNarrow ? "No report matches" : "No report yet"}>
        <p>${isNarrow ? html`Nothing was found for <code>${filter.query || "everything"}</code>, ${rangeText(filter).toLowerCase()}.` : "Reports appear here as soon as an app sends them."}</p>
        ${!isNarrow && html`<p><a class="button primary" href=${pathTo(project, "start")}>First steps</a></p>`}
        ${isNarrow && html`<div class="buttons"><button type="button" class="button"
            onClick=${() => setQuery({ query: undefined, since: undefined, until: undefined, status: undefined })}>All reports</button></div>`}
    <//>`;
}

/** @param {{project: string, route: import("../lib/router.js").Route}} props */
export function Screen({ project, route }) {
    const { query = "", since, until, status } = route.query;
    const filter = { query, since, until, status };
    const { shown, error, isStale, isLoading, reload, loadMore } = useReports(filter);
    const [current, setCurrent] = useState(-1);
    const [steps, setSteps] = useState(0);
    const root = useRef(/** @type {HTMLElement | null} */ (null));
    const input = useRef(/** @type {HTMLInputElement | null} */ (null));
    const rows = /** @type {Row[]} */ (shown?.rows ?? []);
    useEffect(() => {
        document.title = `Reports – ${project} – framezero`;
    }, [project]);
    useLive({ reload, isLoading }, () => scrollY < 1 && current < 0, /report/);
    useEffect(() => setCurrent(-1), [query, since, until, status]);
    useLayoutEffect(() => {
        if (steps) focusRow(root.current, current);
    }, [steps]);
    const step = (/** @type {number} */ by) => () => {
        setCurrent(Math.max(0, Math.min(rows.length - 1, current + by)));
        setSteps((n) => n + 1);
    };
    useKeys([
        { keys: "j", text: "Next report", run: step(1) },
        { keys: "k", text: "Previous report", run: step(-1) },
        { keys: "o", text: "Open the report (or Enter)", run: () => rows[current] && go(pathTo(project, "reports", rows[current].id)) },
        { keys: "/", text: "Write a query", run: () => input.current?.select() },
    ]);
    const isMistake = error && error.status === 400;
    const row = (/** @type {number} */ i) => html`<${ReportRow} project=${project} report=${rows[i]} index=${i} isCurrent=${i === Math.max(0, current)}
        enter=${() => setCurrent(i)} hover=${() => prefetch(`report/${rows[i].id}`, () => get(`/reports/${rows[i].id}`))} />`;
    return html`
        <h1 class="unseen">Reports</h1>
        <div class="toolbar">
            <${QueryBox} value=${query} run=${(/** @type {string} */ text) => setQuery({ query: text || undefined })} error=${isMistake ? error : null}
                inputRef=${input} placeholder="Search, or version:4.2 device:iPhone15,2" />
            <div class="toolbar-menus"><${TimeRange} since=${since} until=${until} /></div>
        </div>
        <div class="under-toolbar">
            <div class="tabs" role="group" aria-label="Names in the reports">
                ${STATES.map((one) => html`<button type="button" class="tab" key=${one.text} aria-pressed=${String((status ?? "") === one.status)}
                    onClick=${() => setQuery({ status: one.status || undefined })}>${one.text}</button>`)}
            </div>
            <span class="muted small nowrap" role="status">${shown && !isMistake && `${rows.length}${shown.next ? "+" : ""} ${rows.length === 1 ? "report" : "reports"}`}</span>
        </div>
        ${error && !isMistake && html`<${Failure} error=${error} retry=${reload} />`}
        ${!shown && !error && html`<${Skeleton} rows=${12} />`}
        ${shown && !rows.length && !isMistake && html`<${NoReports} project=${project} filter=${filter} />`}
        ${rows.length > 0 && html`<div class=${`issues ${isStale || isMistake ? "stale" : ""}`} role="table" aria-label="Reports" aria-rowcount=${rows.length + 1}
            aria-busy=${String(isStale)} ref=${root}>
            <div class="issue-row report-row issue-head" role="row" aria-rowindex="1">
                ${["Report", "Version", "System", "Device", "User", "Received"].map((text, i) => html`<div key=${text} role="columnheader" class=${`report-c${i}`}>${text}</div>`)}
            </div>
            <${VirtualRows} n=${rows.length} keep=${current} row=${row} onEnd=${loadMore} name="report-rows" />
        </div>`}`;
}
