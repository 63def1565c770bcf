/** What was done to an issue and said about it, and the place to say more. */
import { html, useState } from "../../lib/preact.js";
import { get, post } from "../../lib/api.js";
import { count, versionText } from "../../lib/format.js";
import { useKeys } from "../../lib/keys.js";
import { changed } from "../../lib/load.js";
import { usePages } from "../../lib/pages.js";
import { pathTo } from "../../lib/router.js";
import { may } from "../../lib/session.js";
import { fullTime } from "../../lib/time.js";
import { toastError } from "../../ui/toast.js";
import { Age } from "../../ui/text.js";

/** @typedef {import("../../lib/types.js").Activity} Entry */

/** @param {any} fixes */
const fixesText = (fixes) => (Array.isArray(fixes) ? fixes.map((fix) => (fix.after ? `after ${fix.after}` : versionText(fix.version, fix.build))).filter(Boolean).join(", ") : "");

/** @type {Record<string, string>} */
const BECAUSE = { time: "its time is over", reports: "it has so many reports", users: "so many users have it", version: "there is a newer version" };

/** What an entry says, after the one who did it. @param {Entry} entry @param {string} project */
function sentence({ kind, detail = {} }, project) {
    const version = versionText(detail.version, detail.build);
    const link = (/** @type {number} */ n) => html`<a href=${pathTo(project, "issues", n)}>#${n}</a>`;
    switch (kind) {
        case "created": return `received the first report${version && `, from ${version}`}`;
        case "named": return "found the names of its functions";
        case "resolved": return `resolved it${fixesText(detail.fixes) && ` in ${fixesText(detail.fixes)}`}`;
        case "ignored": return `ignored it${detail.until ? ` until ${fullTime(detail.until)}` : detail.users ? ` until ${count(detail.users, "user")} have it` : detail.reports ? ` until it has ${count(detail.reports, "report")}` : detail.next_version ? " until the next version" : ""}`;
        case "reopened": return "reopened it";
        case "regressed": return `saw it again${version && ` in ${version}`}: a regression`;
        case "unmuted": return `opened it again: ${BECAUSE[detail.because] ?? detail.because ?? ""}`;
        case "assigned": return detail.assignee ? `assigned it to ${detail.assignee}` : "assigned it to nobody";
        case "renamed": return detail.title ? `renamed it: ${detail.title}` : "gave it back its own title";
        case "merged": return html`merged ${link(detail.number)} into it`;
        case "merged_into": return html`merged it into ${link(detail.number)}`;
        case "split": return html`split ${link(detail.number)} off`;
        case "split_from": return html`split it off ${link(detail.number)}`;
        case "moved": return html`moved reports to ${link(detail.number)}`;
        case "commented": return "wrote";
        default: return kind.replaceAll("_", " ");
    }
}

/** @param {{entry: Entry, project: string}} props */
function EntryRow({ entry, project }) {
    return html`<li class="entry">
        <p><strong>${entry.actor}</strong> ${sentence(entry, project)}${" "}<${Age} at=${entry.at} class="muted small nowrap" /></p>
        ${entry.kind === "commented" && html`<p class="comment">${entry.detail?.text}</p>`}
    </li>`;
}

/** @param {{project: string, number: number}} props */
export function ActivityLog({ project, number }) {
    const key = `issue/${number}/activity`;
    const load = async (/** @type {any} */ page, /** @type {AbortSignal | undefined} */ signal) => {
        const { activity, next_cursor } = await get(`/issues/${number}/activity`, page, signal);
        return { rows: /** @type {Entry[]} */ (activity), next: next_cursor, more: null };
    };
    const { data, loadMore } = usePages(key, load, (entry) => `${entry.at} ${entry.kind} ${entry.issue ?? ""}`);
    const [text, setText] = useState("");
    const [isBusy, setBusy] = useState(false);
    const [box, setBox] = useState(/** @type {HTMLElement | null} */ (null));
    const mayWrite = may(project, "member");
    useKeys([{ keys: "c", text: "Write a comment", run: () => box?.focus() }]);
    const submit = async (/** @type {Event} */ event) => {
        event.preventDefault();
        setBusy(true);
        try {
            await post(`/issues/${number}/comments`, { text: text.trim() });
            setText("");
            changed(key);
        } catch (error) {
            toastError(error);
        }
        setBusy(false);
    };
    return html`<section>
        <h2>Activity</h2>
        ${mayWrite && html`<form class="comment-form" onSubmit=${submit}>
            <label class="unseen" for="comment">Comment</label>
            <textarea id="comment" rows="2" maxlength="16000" placeholder="Write a comment" value=${text} ref=${setBox}
                onInput=${(/** @type {any} */ event) => setText(event.target.value)}
                onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Enter" && (event.metaKey || event.ctrlKey) && text.trim() && submit(event)}></textarea>
            ${text.trim() && html`<div class="buttons"><button class="button primary" disabled=${isBusy}>Comment</button></div>`}
        </form>`}
        <ol class="entries">${(data?.rows ?? []).map((/** @type {Entry} */ entry, /** @type {number} */ i) => html`<${EntryRow} key=${entry.at + i} entry=${entry} project=${project} />`)}</ol>
        ${data?.next && html`<button type="button" class="button" onClick=${loadMore}>Older</button>`}
    </section>`;
}
