/** All issues that a query finds, in a time range: what a team looks at first. */
import { html, useEffect, useLayoutEffect, useRef, useState } from "../lib/preact.js";
import { get } from "../lib/api.js";
import { askedIssues, PAGE } from "../lib/asked.js";
import { useKeys } from "../lib/keys.js";
import { useLive } from "../lib/live.js";
import { prefetch, useLoad } from "../lib/load.js";
import { usePages } from "../lib/pages.js";
import { go, pathTo, queryText, setQuery } from "../lib/router.js";
import { login, may } from "../lib/session.js";
import { useStore } from "../lib/store.js";
import { Menu } from "../ui/menu.js";
import { QueryBox } from "../ui/query_box.js";
import { Empty, Failure, Skeleton } from "../ui/state.js";
import { TimeRange, rangeText } from "../ui/time_range.js";
import { assign, changeState, merge } from "./issues/actions.js";
import { BulkBar, focusRow, IssueList, SORTS } from "./issues/list.js";
import { AssignDialog, MergeDialog } from "./issues/dialogs.js";
import { SavedFilters, StateTabs } from "./issues/filters.js";

/** @typedef {import("../lib/types.js").Issue} Issue */

const STILL_AT_TOP = 200;
const MOST_LIVE = 100;

/** @param {{project: string, query: string, filter: Record<string, any>}} props */
function NoIssues({ project, query, filter }) {
    const isNarrow = query || filter.since || filter.until;
    const any = useLoad(`any/${project}`, (signal) => get("/reports", { limit: 1 }, signal));
    if (any.data?.reports.length === 0) {
        return html`<${Empty} title="No report yet"><p>Try framezero with a sample crash, or connect your app.</p>
            <p><a class="button primary" href=${pathTo(project, "start")}>First steps</a></p><//>`;
    }
    return html`<${Empty} title=${isNarrow ? "No issue matches" : "No issue yet"}>
        <p>${isNarrow
            ? html`Nothing was found for <code>${query || "everything"}</code>, ${rangeText(filter).toLowerCase()}.`
            : "Reports with one cause become an issue as soon as they arrive."}</p>
        ${isNarrow && html`<div class="buttons">
            ${filter.since && html`<button type="button" class="button" onClick=${() => setQuery({ since: undefined, until: undefined })}>All time</button>`}
            ${query && html`<button type="button" class="button" onClick=${() => setQuery({ query: "" })}>All issues</button>`}
        </div>`}
    <//>`;
}

/** What the address asks for. @param {import("../lib/router.js").Route} route */
function asked(route) {
    const { filter, sort } = askedIssues(route.query);
    const load = async (/** @type {any} */ page, /** @type {AbortSignal | undefined} */ signal = undefined) => {
        const { issues, next_cursor } = await get("/issues", { ...filter, sort, ...page }, signal);
        return { rows: /** @type {Issue[]} */ (issues), next: next_cursor, more: null };
    };
    return { filter, sort, load, key: `issues?${queryText({ ...filter, sort })}` };
}

/** The list, asked for while the server says who is logged in. @param {import("../lib/router.js").Route} route */
export function early(route) {
    const { key, load } = asked(route);
    return prefetch(key, () => load({ limit: PAGE }));
}

/** @param {import("../lib/router.js").Route} route */
function useIssues(route) {
    const { filter, sort, load, key } = asked(route);
    const loaded = usePages(key, load, (issue) => issue.number);
    // While the answer to another query is on its way, the list of before stays, so that nothing jumps.
    const last = useRef(loaded.data);
    if (loaded.data) last.current = loaded.data;
    return { ...loaded, filter, sort, key, shown: loaded.data ?? last.current, isStale: !loaded.data && loaded.isLoading };
}

/** @param {{project: string, route: import("../lib/router.js").Route}} props */
export function Screen({ project, route }) {
    const { filter, sort, shown, key, error, isStale, isLoading, reload, loadMore } = useIssues(route);
    const { query, since, until } = filter;
    const [chosen, setChosen] = useState(/** @type {Map<number, Issue>} */ (new Map()));
    const [current, setCurrent] = useState(-1);
    const [steps, setSteps] = useState(0);
    const [asked, setAsked] = useState(/** @type {"" | "assign" | "merge"} */ (""));
    const root = useRef(/** @type {HTMLElement | null} */ (null));
    const input = useRef(/** @type {HTMLInputElement | null} */ (null));
    const session = useStore(login);
    const rows = /** @type {Issue[]} */ (shown?.rows ?? []);
    useEffect(() => {
        setChosen((was) => (was.size ? new Map() : was));
        setCurrent(-1);
    }, [key]);
    useEffect(() => {
        document.title = `Issues – ${project} – framezero`;
    }, [project]);

    const mayWrite = may(project, "member");
    const toggle = (/** @type {Issue} */ issue) => {
        const next = new Map(chosen);
        if (!next.delete(issue.number)) next.set(issue.number, issue);
        setChosen(next);
    };
    const toggleAll = () => setChosen(new Map(rows.every((row) => chosen.has(row.number)) ? [] : rows.map((row) => [row.number, row])));
    const clear = () => setChosen(new Map());
    const targets = chosen.size ? [...chosen.values()] : rows[current] ? [rows[current]] : [];
    const act = (/** @type {(issues: Issue[]) => void} */ run) => () => {
        if (!targets.length) return;
        clear();
        run(targets);
    };
    const step = (/** @type {number} */ by) => () => {
        setCurrent(Math.max(0, Math.min(rows.length - 1, current + by)));
        setSteps((n) => n + 1);
    };
    // In the same turn as the key, so that keys that come quickly find the row of the one before.
    useLayoutEffect(() => {
        if (steps) focusRow(root.current, current);
    }, [steps]);
    const open = () => rows[current] && go(pathTo(project, "issues", rows[current].number) + queryText(filter));
    // Rows do not change places under somebody who reads, selects or walks through them.
    useLive({ reload, isLoading }, () => chosen.size === 0 && current < 0 && scrollY < STILL_AT_TOP && rows.length <= MOST_LIVE, /issue/);
    const actionKeys = [
        { keys: "x", text: "Select the issue", run: () => rows[current] && toggle(rows[current]) },
        { keys: "e", text: "Resolve", run: act((issues) => changeState(issues, { state: "resolved" }, "resolved")) },
        { keys: "r", text: "Resolve in the next version", run: act((issues) => changeState(issues, { resolved_in: "next" }, "resolved in the next version")) },
        { keys: "i", text: "Ignore", run: act((issues) => changeState(issues, { state: "ignored" }, "ignored")) },
        { keys: "a", text: "Assign", run: () => targets.length && setAsked("assign") },
        { keys: "m", text: "Merge", run: () => targets.length && setAsked("merge") },
    ];
    useKeys([
        { keys: "j", text: "Next issue", run: step(1) },
        { keys: "k", text: "Previous issue", run: step(-1) },
        { keys: "o", text: "Open the issue (or Enter)", run: open },
        ...(mayWrite ? actionKeys : []),
        { keys: "/", text: "Write a query", run: () => input.current?.select() },
    ]);

    const sorts = SORTS.map((one) => ({
        ...one, chosen: one.name === sort, run: () => setQuery({ sort: one.name === "users" ? undefined : one.name }),
    }));
    const me = session.state === "in" ? session.session.user?.name : undefined;
    const isMistake = error && error.status === 400;
    return html`
        <h1 class="unseen">Issues</h1>
        <div class="toolbar">
            <${QueryBox} value=${query} run=${(/** @type {string} */ text) => setQuery({ query: text })} error=${isMistake ? error : null}
                inputRef=${input} placeholder="Search, or version:4.2 device:iPhone15,2" />
            <div class="toolbar-menus">
                <${TimeRange} since=${since} until=${until} />
                <${Menu} label=${SORTS.find((one) => one.name === sort)?.text ?? sort} name=${`Order: ${sort}`} icon="sort" items=${sorts} side="right" />
                <${SavedFilters} project=${project} filter=${{ query, since, until, sort: route.query.sort }} />
            </div>
        </div>
        <div class="under-toolbar">
            <${StateTabs} query=${query} />
            <span class="muted small nowrap" role="status">${shown && !isMistake && `${rows.length}${shown.next ? "+" : ""} ${rows.length === 1 ? "issue" : "issues"}`}</span>
        </div>
        ${chosen.size > 0 && mayWrite && html`<${BulkBar} issues=${targets} done=${clear} clear=${clear} ask=${setAsked} />`}
        ${error && !isMistake && html`<${Failure} error=${error} retry=${reload} />`}
        ${!shown && !error && html`<${Skeleton} rows=${12} />`}
        ${shown && rows.length === 0 && !isMistake && html`<${NoIssues} project=${project} query=${query} filter=${filter} />`}
        ${rows.length > 0 && html`<${IssueList} project=${project} rows=${rows} sort=${sort} filter=${filter} chosen=${chosen} toggle=${mayWrite ? toggle : undefined}
            toggleAll=${toggleAll} current=${current} setCurrent=${setCurrent} onEnd=${loadMore} isStale=${isStale || !!isMistake} rootRef=${root} />`}
        ${asked === "assign" && html`<${AssignDialog} issues=${targets} me=${me} close=${() => setAsked("")}
            run=${(/** @type {string | null} */ name) => (clear(), assign(targets, name))} />`}
        ${asked === "merge" && html`<${MergeDialog} issues=${targets} close=${() => setAsked("")}
            run=${async (/** @type {number} */ into) => (await merge(targets, into), clear())} />`}`;
}
