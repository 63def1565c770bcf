/** One issue: its stack first, then where it happens, its variants, and what was said about it. */
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { get } from "../lib/api.js";
import { askedIssue } from "../lib/asked.js";
import { count, number, versionText } from "../lib/format.js";
import { useKeys } from "../lib/keys.js";
import { useLive } from "../lib/live.js";
import { useLoad } from "../lib/load.js";
import { go, pathTo, queryText, setQuery } from "../lib/router.js";
import { useSource } from "../lib/source.js";
import { date, fullTime } from "../lib/time.js";
import { IssueActions } from "./issue/actions.js";
import { ActivityLog } from "./issue/activity.js";
import { Distributions, Variants } from "./issue/distributions.js";
import { IssueReport } from "./issue/report.js";
import { Badge, IssueBadges, titleParts } from "../ui/badge.js";
import { Icon } from "../ui/icon.js";
import { Failure, Skeleton } from "../ui/state.js";
import { Age, Fact } from "../ui/text.js";
import { TimeRange } from "../ui/time_range.js";
import { Trend } from "../ui/trend.js";

/** @typedef {import("../lib/types.js").IssueDetail} IssueDetail */

/** @param {any} fix */
const fixText = (fix) => (fix.after ? `after ${fix.after}` : versionText(fix.version, fix.build));

/** Until when an issue stays as it is. @param {IssueDetail} issue */
function stateText(issue) {
    if (issue.state === "resolved" && issue.resolved_in?.length) return `in ${issue.resolved_in.map(fixText).filter(Boolean).join(", ")}`;
    const until = issue.state === "ignored" ? issue.ignore_until ?? {} : {};
    return [
        until.time && `until ${fullTime(until.time)}`,
        until.users && `until ${count(until.users, "user")} have it`,
        until.reports && `until it has ${count(until.reports, "report")}`,
        (until.next_version || until.version) && "until the next version",
    ].filter(Boolean).join(" or ");
}

/** @param {{issue: IssueDetail}} props */
function IssueHead({ issue }) {
    const { what, where } = titleParts(issue.title);
    const first = versionText(issue.first_version, issue.first_build);
    const last = versionText(issue.last_version, issue.last_build);
    const state = stateText(issue);
    return html`<header class="issue-title">
        <p class="issue-over">
            <span>#${issue.number}</span>
            <${IssueBadges} issue=${issue} />
            ${state && html`<span class="small">${state}</span>`}
            ${issue.state === "open" && !issue.regressed && html`<${Badge}>open<//>`}
            ${what && html`<span>${what} in</span>`}
        </p>
        <h1>${where}</h1>
        <dl class="facts">
            <${Fact} name="Reports">${number(issue.reports)}<//>
            <${Fact} name="Users">${number(issue.users)}<//>
            <${Fact} name="First seen"><time datetime=${issue.first_seen} title=${fullTime(issue.first_seen)}>${date(issue.first_seen)}</time>${first && html`<span class="muted"> in ${first}</span>`}<//>
            <${Fact} name="Last seen"><${Age} at=${issue.last_seen} />${last && html`<span class="muted"> in ${last}</span>`}<//>
            <${Fact} name="Assignee">${issue.assignee ?? html`<span class="muted">nobody</span>`}<//>
        </dl>
    </header>`;
}

/** @param {{all: string[]}} props */
function FilterWords({ all }) {
    return html`<ul class="chips" aria-label="Only reports with">
        ${all.map((word) => html`<li key=${word} class="chip"><code>${word}</code>
            <button type="button" aria-label=${`Without ${word}`} onClick=${() => setQuery({ query: all.filter((one) => one !== word).join(" ") || undefined, report: undefined })}><${Icon} name="cross" size=${12} /></button>
        </li>`)}
    </ul>`;
}

/** @param {{project: string, route: import("../lib/router.js").Route}} props */
export function Screen({ project, route }) {
    const number = Number(route.item);
    const { since, until, report } = route.query;
    const { conditions, filter } = askedIssue(route.query);
    const back = pathTo(project, "issues") + queryText({ ...route.query, report: undefined });
    const loaded = useLoad(`issue/${number}${queryText(filter)}`, (signal) => get(`/issues/${number}`, filter, signal));
    const [, sourceChanged] = useState(0);
    const source = useSource(project);
    const last = useRef(loaded.data);
    if (loaded.data) last.current = loaded.data;
    const issue = /** @type {import("../lib/types.js").IssueDetail | undefined} */ (loaded.data ?? last.current);
    const id = report ?? issue?.best_report ?? issue?.newest_report;
    useLive(loaded, () => true, /issue/);
    useKeys([{ keys: "u", text: "Back to the list", run: () => go(back) }]);
    useEffect(() => {
        if (issue) document.title = `#${issue.number} ${issue.title} – framezero`;
        // An issue that was merged answers as the one that has its reports.
        if (issue && issue.number !== number) go(pathTo(project, "issues", issue.number) + location.search, { replace: true });
    }, [issue?.number, issue?.title]);
    if (loaded.error && !loaded.data) {
        return html`<p><a href=${back}>Issues</a></p><h1 class="unseen">Issue ${route.item}</h1><${Failure} error=${loaded.error} retry=${loaded.error.status === 404 ? undefined : loaded.reload} />`;
    }
    if (!issue) return html`<${Skeleton} rows=${10} />`;
    return html`<div class=${`issue-screen ${loaded.data ? "" : "stale"}`}>
        <div class="issue-bar">
            <a class="back" href=${back}><${Icon} name="left" />Issues</a>
            <${FilterWords} all=${conditions} />
            <span class="grow"></span>
            <${TimeRange} since=${since} until=${until} />
        </div>
        <div class="issue-top">
            <${IssueHead} issue=${issue} />
            <${IssueActions} project=${project} issue=${issue} report=${id} sourceChanged=${() => sourceChanged((n) => n + 1)} />
        </div>
        <div class="issue-columns">
            <div class="issue-main">
                ${id
                    ? html`<${IssueReport} project=${project} number=${issue.number} id=${id} filter=${filter} newest=${issue.newest_report} total=${issue.reports} source=${source} />`
                    : html`<p class="notice">No report of this issue is there, or none matches the filter.</p>`}
                <${Variants} project=${project} issue=${issue} filter=${filter} />
                <${ActivityLog} project=${project} number=${issue.number} />
            </div>
            <aside class="issue-aside" aria-label="Where it happens">
                <${Trend} values=${issue.trend} start=${issue.trend_start} step=${issue.trend_step_ms} />
                <${Distributions} project=${project} issue=${issue} filter=${filter} />
            </aside>
        </div>
    </div>`;
}
