/** Who changed what in the project, and who logged in. */
import { html, useState } from "../../lib/preact.js";
import { get } from "../../lib/api.js";
import { useLoad } from "../../lib/load.js";
import { fullTime } from "../../lib/time.js";
import { attempt } from "../../ui/form.js";
import { Empty, Failure, Skeleton } from "../../ui/state.js";

/** @typedef {{id: number, at: string, action: string, object?: string, detail?: string, address: string, all_projects?: boolean,
 *   actor: {kind: string, id?: number, name: string}}} Entry */

/** What names of routes mean. @type {Record<string, string>} */
const TEXTS = {
    token_post: "made a token", token_revoke: "revoked a token", project_post: "made a project", project_put: "changed settings",
    grouping_put: "changed the rules of grouping", grouping_undo: "took back rules of grouping", channel_post: "made an alert",
    channel_patch: "changed an alert", channel_delete: "deleted an alert", channel_rotate: "changed the secret of an alert",
    report_delete: "deleted a report", report_reprocess: "had a report processed again", symbol_delete: "deleted a symbol file",
    user_patch: "changed a user", user_delete: "removed a user", user_unlink: "detached a user from the provider", user_reset: "made a link for a password", invitation_post: "invited a user",
    person_export: "exported a person", person_delete: "erased a person", login: "logged in", login_failed: "failed to log in",
};

/** @param {{entry: Entry}} props */
function Row({ entry }) {
    return html`<tr>
        <td class="nowrap">${fullTime(entry.at)}</td>
        <td>${entry.actor.name}${entry.actor.kind === "token" && html` <span class="muted small">token ${entry.actor.id}</span>`}</td>
        <td>${TEXTS[entry.action] ?? entry.action} ${entry.object && html`<code>${entry.object}</code>`}${entry.detail && html` <span class="muted small">${entry.detail}</span>`}</td>
        <td><code>${entry.address}</code></td>
    </tr>`;
}

/** @param {{project: string}} props */
export function Audit({ project }) {
    const [action, setAction] = useState("");
    const [more, setMore] = useState(/** @type {{of: string, entries: Entry[], next?: string} | null} */ (null));
    const key = `audit/${project}/${action}`;
    const { data, error, reload } = useLoad(key, (signal) => get("/audit", action ? { action } : {}, signal));
    if (error && !data) return html`<${Failure} error=${error} retry=${reload} />`;
    if (!data) return html`<${Skeleton} rows=${8} />`;
    // What was loaded further belongs to this list only.
    const further = more?.of === key ? more : null;
    const entries = [.../** @type {Entry[]} */ (data.entries), ...(further?.entries ?? [])];
    const next = further ? further.next : data.next_cursor;
    const load = () => attempt(async () => {
        const page = await get("/audit", { ...(action ? { action } : {}), cursor: next });
        setMore({ of: key, entries: [...(further?.entries ?? []), ...page.entries], next: page.next_cursor });
    });
    return html`
        <p class="muted">Entries are kept for a year. They name what was changed, never the values, and cannot be deleted.</p>
        <label class="field"><span>What</span><select value=${action} onChange=${(/** @type {any} */ event) => setAction(event.target.value)}>
            <option value="">everything</option>
            ${Object.entries(TEXTS).map(([name, text]) => html`<option key=${name} value=${name}>${text}</option>`)}
        </select></label>
        ${entries.length === 0 ? html`<${Empty} title="Nothing is recorded"><p>Changes from now on are.</p><//>` : html`
        <div class="wide-table" tabindex="0" role="region" aria-label="All entries"><table>
            <caption class="unseen">Audit log</caption>
            <thead><tr><th scope="col">When</th><th scope="col">Who</th><th scope="col">What</th><th scope="col">From</th></tr></thead>
            <tbody>${entries.map((entry) => html`<${Row} key=${entry.id} entry=${entry} />`)}</tbody>
        </table></div>`}
        ${next && html`<div class="buttons"><button type="button" class="button" onClick=${load}>Older entries</button></div>`}`;
}
