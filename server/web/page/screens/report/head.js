/** Which report this is: its issue, its state, and where and when it happened. */
import { html } from "../../lib/preact.js";
import { versionText } from "../../lib/format.js";
import { pathTo } from "../../lib/router.js";
import { kindText, partsOf, STATUS, summary } from "../../lib/report.js";
import { fullTime } from "../../lib/time.js";
import { Badge } from "../../ui/badge.js";
import { Fact } from "../../ui/text.js";

/** @type {Record<string, "red"|"amber"|"green"|"blue"|"grey">} */
const COLOURS = { symbolicated: "green", partial: "amber", unsymbolicated: "amber", failed: "red", queued: "blue" };

/** @param {{status: string}} props */
export function StatusBadge({ status }) {
    return html`<${Badge} kind=${COLOURS[status] ?? "grey"}>${STATUS[status] ?? status}<//>`;
}

/** @param {{project: string, report: import("../../lib/types.js").Report}} props */
export function ReportHead({ project, report }) {
    const { app = {}, os = {}, device = {}, issue } = report;
    const parts = partsOf(report);
    const title = issue?.title ?? (parts.length ? summary(parts[0].frames) : "");
    const version = versionText(app.version, app.build);
    const system = [os.name, os.version].filter(Boolean).join(" ");
    const user = report.user?.id ?? report.user?.email ?? report.user?.name;
    return html`<header class="issue-title">
        <p class="issue-over">
            <span>Report</span>
            <${StatusBadge} status=${report.status} />
            ${report.kind && report.kind !== "crash" && html`<${Badge} kind="amber">${kindText(report.kind)}<//>`}
            ${issue?.number && html`<a href=${pathTo(project, "issues", issue.number)}>Issue #${issue.number}</a>`}
        </p>
        <h1>${title || report.id}</h1>
        <dl class="facts">
            ${version && html`<${Fact} name="Version">${version}<//>`}
            ${system && html`<${Fact} name="System">${system}${os.build && html`<span class="muted"> (${os.build})</span>`}<//>`}
            ${device.model && html`<${Fact} name="Device">${device.model}<//>`}
            ${user && html`<${Fact} name="User">${user}<//>`}
            ${report.timestamp && html`<${Fact} name="Crashed"><time datetime=${report.timestamp}>${fullTime(report.timestamp)}</time><//>`}
            <${Fact} name="Received"><time datetime=${report.received}>${fullTime(report.received)}</time><//>
        </dl>
    </header>`;
}
