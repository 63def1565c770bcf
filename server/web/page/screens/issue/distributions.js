/** Where an issue happens: versions, systems, devices and more, each value a filter; and its variants. */
import { html, useState } from "../../lib/preact.js";
import { post } from "../../lib/api.js";
import { versionText, count, number, compact, percent } from "../../lib/format.js";
import { withWord } from "../../lib/query.js";
import { pathTo, queryText, go } from "../../lib/router.js";
import { may } from "../../lib/session.js";
import { issuesChanged } from "../issues/actions.js";
import { Icon } from "../../ui/icon.js";
import { toast, toastError } from "../../ui/toast.js";
import { Age } from "../../ui/text.js";

/** @typedef {Record<string, any>} Row */

/** @type {{name: string, title: string, text: (row: Row) => string, words: (row: Row) => [string, string][]}[]} */
const KINDS = [
    { name: "versions", title: "Version", text: (row) => versionText(row.version, row.build), words: (row) => [["version", row.version], ["build", row.build]] },
    { name: "os", title: "System", text: (row) => [row.name, row.version].filter(Boolean).join(" "), words: (row) => [["os", row.name], ["os_version", row.version]] },
    { name: "devices", title: "Device", text: (row) => row.model ?? "", words: (row) => [["device", row.model]] },
    { name: "archs", title: "Architecture", text: (row) => row.arch ?? "", words: (row) => [["arch", row.arch]] },
    { name: "environments", title: "Environment", text: (row) => row.environment ?? "", words: (row) => [["environment", row.environment]] },
];

/** @param {{project: string, issue: import("../../lib/types.js").IssueDetail, filter: Row}} props */
export function Distributions({ project, issue, filter }) {
    const href = (/** @type {[string, string][]} */ pairs) => {
        const query = pairs.filter(([, value]) => value).reduce((text, [key, value]) => withWord(text, key, value), filter.query ?? "");
        return pathTo(project, "issues", issue.number) + queryText({ ...filter, query });
    };
    return KINDS.map(({ name, title, text, words }) => {
        const one = issue.distributions[name];
        // A distribution over one value says nothing that the report does not.
        if (!one || (one.values < 2 && ["archs", "environments"].includes(name))) return null;
        const rows = one.top.map((row) => ({ text: text(row), n: row.reports, href: href(words(row)) }));
        return html`<${Bars} key=${name} title=${title} rows=${rows} others=${one.others} values=${one.values} />`;
    });
}

/**
 * @param {{project: string, issue: import("../../lib/types.js").IssueDetail, filter: Record<string, any>}} props
 */
export function Variants({ project, issue, filter }) {
    const [isBusy, setBusy] = useState(false);
    if (issue.variant_count < 2) return null;
    const split = async (/** @type {import("../../lib/types.js").Variant} */ variant) => {
        setBusy(true);
        try {
            const made = await post(`/issues/${issue.number}/split`, { variant: variant.variant });
            issuesChanged();
            const back = () => post(`/issues/${made.number}/merge`, { into: issue.number }).then(() => (issuesChanged(), go(pathTo(project, "issues", issue.number))), toastError);
            go(pathTo(project, "issues", made.number));
            toast(`#${made.number} was split off #${issue.number}`, { action: { text: "Undo", run: back } });
        } catch (error) {
            toastError(error);
        }
        setBusy(false);
    };
    const only = (/** @type {number} */ id) => pathTo(project, "issues", issue.number) + queryText({ ...filter, query: withWord(filter.query ?? "", "variant", String(id)) });
    return html`<section>
        <h2>${count(issue.variant_count, "variant")}</h2>
        <table class="plain">
            <thead><tr><th scope="col">Variant</th><th scope="col" class="number">Reports</th><th scope="col">Last seen</th><th><span class="unseen">Actions</span></th></tr></thead>
            <tbody>${issue.variants.map((variant) => html`<tr key=${variant.variant}>
                <td><a href=${only(variant.id)}>${variant.label || variant.variant.slice(0, 8)}</a></td>
                <td class="number">${number(variant.reports)}</td>
                <td class="nowrap"><${Age} at=${variant.last_seen} isColumn /></td>
                <td class="number">${may(project, "member") && html`<button type="button" class="button ghost small" disabled=${isBusy} onClick=${() => split(variant)}><${Icon} name="branch" />Split off</button>`}</td>
            </tr>`)}</tbody>
        </table>
    </section>`;
}

const SHOWN = 5;

/**
 * @param {{title: string, rows: {text: string, n: number, href?: string}[], others?: number, values?: number, empty?: string}} props
 */
function Bars({ title, rows, others = 0, values = 0, empty = "unknown" }) {
    const [isAll, setAll] = useState(false);
    const all = others + rows.reduce((sum, row) => sum + row.n, 0);
    const shown = isAll ? rows : rows.slice(0, SHOWN);
    const hidden = rows.slice(shown.length).reduce((sum, row) => sum + row.n, others);
    const unseen = Math.max(0, values - shown.length);
    return html`<table class="bars">
        <caption>${title}</caption>
        <colgroup><col /><col class="bars-share" /><col class="bars-count" /></colgroup>
        <thead class="unseen"><tr><th scope="col">${title}</th><th scope="col">Share</th><th scope="col">Reports</th></tr></thead>
        <tbody>
            ${shown.map((row, i) => html`<tr key=${i}>
                <th scope="row">
                    <span class="bar-fill" style=${{ width: `${all ? (100 * row.n) / all : 0}%` }} aria-hidden="true"></span>
                    ${row.href && row.text ? html`<a class="cut" href=${row.href} title=${`Only ${row.text}`}>${row.text}</a>` : html`<span class="cut muted">${row.text || empty}</span>`}
                </th>
                <td class="number">${percent(row.n, all)}</td>
                <td class="number muted">${compact(row.n)}</td>
            </tr>`)}
            ${hidden > 0 && html`<tr class="bars-rest"><th scope="row">
                ${!isAll && rows.length > SHOWN
                    ? html`<button type="button" class="linklike" onClick=${() => setAll(true)}>${unseen} more</button>`
                    : html`<span class="muted">${unseen} others</span>`}</th>
                <td class="number">${percent(hidden, all)}</td><td class="number muted">${compact(hidden)}</td></tr>`}
        </tbody>
    </table>`;
}
