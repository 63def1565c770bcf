/**
 * The table of issues: sortable heads, rows that the arrow keys walk through, a check box for each, and what can be done with
 * those that are selected.
 */
import { html, useEffect, useRef } from "../../lib/preact.js";
import { get } from "../../lib/api.js";
import { number, compact, count, versionText } from "../../lib/format.js";
import { prefetch } from "../../lib/load.js";
import { pathTo, queryText, setQuery } from "../../lib/router.js";
import { changeState, ignoreItems, resolveItems } from "./actions.js";
import { titleParts, IssueBadges } from "../../ui/badge.js";
import { Icon } from "../../ui/icon.js";
import { Menu } from "../../ui/menu.js";
import { VirtualRows } from "../../ui/virtual.js";
import { Age } from "../../ui/text.js";

/** @param {{values: number[], label?: string, width?: number, height?: number}} props */
function Sparkline({ values, label = "Trend", width = 112, height = 28 }) {
    const most = Math.max(1, ...values);
    const step = width / Math.max(1, values.length);
    const bars = values.map((value, i) => {
        const size = value ? Math.max(2, (value / most) * (height - 1)) : 0;
        return value ? `M${(i * step).toFixed(2)} ${height}v${-size.toFixed(2)}h${(step * 0.72).toFixed(2)}V${height}z` : "";
    });
    return html`<svg class="sparkline" viewBox=${`0 0 ${width} ${height}`} width=${width} height=${height} role="img"
        aria-label=${`${label}: ${number(values.at(-1) ?? 0)} in the last part, ${number(most === 1 && !values.some(Boolean) ? 0 : most)} at most`}>
        <path class="sparkline-base" d=${`M0 ${height - 0.5}H${width}`} />
        <path class="sparkline-bars" d=${bars.join("")} />
    </svg>`;
}

/** @param {import("../../lib/types.js").Issue} issue */
function versions(issue) {
    const first = versionText(issue.first_version);
    const last = versionText(issue.last_version);
    return first && last && first !== last ? `${first} – ${last}` : last || first;
}

/** What happened, from the title or the newest report, and its reason. @param {import("../../lib/types.js").Issue} issue @param {string} what of the title */
function crashText({ exception, signal, reason = "" }, what) {
    const kind = what || exception || signal || "";
    return kind.includes(reason) ? kind : [kind, reason].filter(Boolean).join(": ");
}

/**
 * @param {{issue: import("../../lib/types.js").Issue, index: number, href: string, isChosen: boolean, isCurrent: boolean,
 *   choose: (() => void) | undefined, enter: () => void, hover: () => void}} props
 */
function IssueRow({ issue, index, href, isChosen, isCurrent, choose, enter, hover }) {
    const { what, where } = titleParts(issue.title);
    const text = crashText(issue, what);
    const seen = html`<${Age} at=${issue.last_seen} isColumn />`;
    return html`<div class=${`issue-row ${isChosen ? "chosen" : ""}`} role="row" aria-rowindex=${index + 2} onPointerEnter=${hover}>
        ${choose && html`<div role="cell" class="issue-check">
            <input type="checkbox" aria-label=${`Select issue ${issue.number}`} checked=${isChosen} onChange=${choose} />
        </div>`}
        <div role="cell" class="issue-name">
            <a class="issue-link cut" href=${href} data-index=${index} onFocus=${enter} tabindex=${isCurrent ? 0 : -1}>${where}</a>
            <div class="issue-facts">
                <span class="issue-number">#${issue.number}</span>
                <${IssueBadges} issue=${issue} />
                ${text && html`<span class="cut" title=${text}>${text}</span>`}
                <span class="issue-brief">${count(issue.reports, "report")} · ${count(issue.users, "user")} · ${seen} · ${versions(issue)}</span>
            </div>
        </div>
        <div role="cell" class="issue-trend"><${Sparkline} values=${issue.trend} label="Reports" /></div>
        <div role="cell" class="issue-n number">${compact(issue.reports)}</div>
        <div role="cell" class="issue-n number">${compact(issue.users)}</div>
        <div role="cell" class="issue-versions cut">${versions(issue)}</div>
        <div role="cell" class="issue-seen nowrap">${seen}</div>
        <div role="cell" class="issue-assignee cut">${issue.assignee ?? html`<span class="muted">–</span>`}</div>
    </div>`;
}

/**
 * @param {{issues: import("../../lib/types.js").Issue[], done: () => void, clear: () => void, ask: (what: "assign" | "merge") => void}} props
 */
export function BulkBar({ issues, done, clear, ask }) {
    const run = (/** @type {Record<string, any>} */ change, /** @type {string} */ text) => {
        done();
        changeState(issues, change, text);
    };
    return html`<div class="bulk" role="region" aria-label="Selected issues">
        <strong class="nowrap" aria-live="polite">${count(issues.length, "issue")} selected</strong>
        <div class="buttons grow">
            <${Menu} label="Resolve" icon="check" items=${resolveItems(run)} />
            <${Menu} label="Ignore" icon="mute" items=${ignoreItems(run)} />
            ${issues.some((one) => one.state !== "open") && html`<button type="button" class="button"
                onClick=${() => run({ state: "open" }, "open again")}>Reopen</button>`}
            <button type="button" class="button" onClick=${() => ask("assign")}><${Icon} name="person" />Assign…</button>
            ${issues.length > 1 && html`<button type="button" class="button" onClick=${() => ask("merge")}><${Icon} name="merge" />Merge…</button>`}
        </div>
        <button type="button" class="button ghost square" aria-label="Select nothing" onClick=${clear}><${Icon} name="cross" /></button>
    </div>`;
}

export const SORTS = [
    { name: "users", text: "Users", hint: "of the newest two versions" },
    { name: "reports", text: "Reports" },
    { name: "trend", text: "Trend", hint: "what became more frequent" },
    { name: "last_seen", text: "Last seen" },
    { name: "first_seen", text: "First seen" },
];

/** @param {{name: string, text: string, sort: string, class: string}} props */
function Head({ name, text, sort, class: className }) {
    const isSorted = sort === name;
    return html`<div role="columnheader" class=${className} aria-sort=${isSorted ? "descending" : "none"}>
        <button type="button" class="head-button" onClick=${() => setQuery({ sort: name === "users" ? undefined : name })}>
            ${text}${isSorted && html`<${Icon} name="down" size=${12} />`}
        </button>
    </div>`;
}

/** Move the focus to a row, which is drawn. @param {HTMLElement | null} root @param {number} index */
export function focusRow(root, index) {
    const link = /** @type {HTMLElement | null} */ (root?.querySelector(`.issue-link[data-index="${index}"]`));
    link?.focus({ preventScroll: true });
    link?.scrollIntoView({ block: "nearest" });
}

/**
 * @param {{project: string, rows: import("../../lib/types.js").Issue[], sort: string, filter: Record<string, any>,
 *   chosen: Map<number, any>, toggle: ((issue: any) => void) | undefined, toggleAll: () => void, current: number,
 *   setCurrent: (i: number) => void, onEnd: () => void, isStale: boolean, rootRef: {current: HTMLElement | null}}} props
 */
export function IssueList({ project, rows, sort, filter, chosen, toggle, toggleAll, current, setCurrent, onEnd, isStale, rootRef }) {
    const all = useRef(/** @type {HTMLInputElement | null} */ (null));
    const isAll = rows.length > 0 && rows.every((row) => chosen.has(row.number));
    useEffect(() => {
        if (all.current) all.current.indeterminate = chosen.size > 0 && !isAll;
    }, [chosen, isAll]);
    const href = (/** @type {number} */ number) => pathTo(project, "issues", number) + queryText(filter);
    const row = (/** @type {number} */ i) => {
        const issue = rows[i];
        const load = () => get(`/issues/${issue.number}`, filter);
        return html`<${IssueRow} issue=${issue} index=${i} href=${href(issue.number)} isChosen=${chosen.has(issue.number)}
            isCurrent=${i === Math.max(0, current)} choose=${toggle && (() => toggle(issue))} enter=${() => setCurrent(i)}
            hover=${() => prefetch(`issue/${issue.number}${queryText(filter)}`, load)} />`;
    };
    return html`<div class=${`issues ${isStale ? "stale" : ""} ${toggle ? "" : "unchosen"}`} role="table" aria-label="Issues" aria-rowcount=${rows.length + 1}
        aria-busy=${String(isStale)} ref=${rootRef}>
        <div class="issue-row issue-head" role="row" aria-rowindex="1">
            ${toggle && html`<div role="columnheader" class="issue-check">
                <input type="checkbox" ref=${all} aria-label="Select all issues of the list" checked=${isAll} onChange=${toggleAll} />
            </div>`}
            <div role="columnheader" class="issue-name">Issue</div>
            <${Head} name="trend" text="Trend" sort=${sort} class="issue-trend" />
            <${Head} name="reports" text="Reports" sort=${sort} class="issue-n number" />
            <${Head} name="users" text="Users" sort=${sort} class="issue-n number" />
            <div role="columnheader" class="issue-versions">Versions</div>
            <${Head} name="last_seen" text="Last seen" sort=${sort} class="issue-seen" />
            <div role="columnheader" class="issue-assignee">Assignee</div>
        </div>
        <${VirtualRows} n=${rows.length} keep=${current} row=${row} onEnd=${onEnd} name="issue-rows" />
    </div>`;
}
