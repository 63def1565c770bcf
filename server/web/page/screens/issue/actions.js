/** What can be done with an issue: its state, its owner, its title, merging, taking it elsewhere; with what this asks. */
import { html, useEffect, useState } from "../../lib/preact.js";
import { get, download, patch, request } from "../../lib/api.js";
import { copy } from "../../lib/copy.js";
import { useKeys } from "../../lib/keys.js";
import { login, may } from "../../lib/session.js";
import { ownSource, saveOwnSource, templateProblem, useSource } from "../../lib/source.js";
import { useStore } from "../../lib/store.js";
import { assign, changeState, ignoreItems, issuesChanged, merge, resolveItems } from "../issues/actions.js";
import { AssignDialog, MergeDialog } from "../issues/dialogs.js";
import { Dialog, DialogButtons } from "../../ui/dialog.js";
import { Field, FormDialog } from "../../ui/form.js";
import { Icon } from "../../ui/icon.js";
import { Menu } from "../../ui/menu.js";
import { SourceFields } from "../../ui/source_fields.js";
import { toastError } from "../../ui/toast.js";

/**
 * @param {{issue: import("../../lib/types.js").Issue, run: (change: Record<string, any>, done: string) => void, close: () => void}} props
 */
function ResolveDialog({ issue, run, close }) {
    const [version, setVersion] = useState("");
    const [known, setKnown] = useState(/** @type {string[]} */ ([]));
    useEffect(() => {
        const values = (/** @type {any} */ answer) => setKnown(answer.values.map((/** @type {any} */ one) => one.value));
        get("/values", { field: "version", limit: 20 }).then(values, () => {});
    }, []);
    const submit = (/** @type {Event} */ event) => {
        event.preventDefault();
        close();
        run({ resolved_in: version.trim() }, `resolved in ${version.trim()}`);
    };
    return html`<${Dialog} title=${`#${issue.number} is resolved in version…`} close=${close}>
        <form class="form" onSubmit=${submit}>
            <label class="field"><span>Version</span><input type="text" list="versions" required maxlength="200" autocomplete="off" value=${version} data-first
                onInput=${(/** @type {any} */ event) => setVersion(event.target.value)} placeholder="4.2.1" /></label>
            <datalist id="versions">${known.map((one) => html`<option key=${one} value=${one} />`)}</datalist>
            <p class="small muted">Reports of it and of later versions then make the issue a regression; those of older ones do not.</p>
            <${DialogButtons} text="Resolve" disabled=${!version.trim()} close=${close} />
        </form>
    <//>`;
}

/** @param {{issue: import("../../lib/types.js").Issue, run: (title: string) => void, close: () => void}} props */
function RenameDialog({ issue, run, close }) {
    const [title, setTitle] = useState(issue.title);
    return html`<${Dialog} title=${`Rename #${issue.number}`} close=${close}>
        <form class="form" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), close(), run(title.trim()))}>
            <label class="field"><span>Title</span><input type="text" maxlength="500" value=${title} data-first
                onInput=${(/** @type {any} */ event) => setTitle(event.target.value)} /></label>
            <p class="small muted">Without a title it gets the one that framezero makes.</p>
            <${DialogButtons} text="Rename" close=${close} />
        </form>
    <//>`;
}

/** What this browser has in place of the project's. @param {{project: string, close: () => void, saved: () => void}} props */
export function SourceDialog({ project, close, saved }) {
    const [{ template, prefix }, setSetting] = useState(() => ownSource(project));
    const shared = useSource(project);
    const paths = prefix ? [{ from: prefix, to: "" }] : shared.paths;
    const send = async () => (saveOwnSource(project, { template, prefix }), saved());
    return html`<${FormDialog} title="Links to source code, in this browser" text="Save" send=${send} disabled=${!!templateProblem(template)} close=${close} wide>
        <${SourceFields} setting=${{ template, paths }} none=${shared.template || "as the project has it"} data-first
            set=${(/** @type {string} */ text) => setSetting({ prefix, template: text })} />
        <${Field} label="Leave out this beginning of paths" class="mono" spellcheck=${false} autocomplete="off" placeholder="/Users/ann/shop/" value=${prefix}
            set=${(/** @type {string} */ text) => setSetting({ template, prefix: text })} />
    <//>`;
}

/** @typedef {import("../../lib/types.js").IssueDetail} IssueDetail */

/** What does not change the issue. @param {IssueDetail} issue @param {string | undefined} report @param {() => void} askSource */
function takeItems(issue, report, askSource) {
    const markdown = async () => copy(await request("GET", `/issues/${issue.number}`, { query: { format: "md" }, text: true }), "The issue as Markdown");
    const save = (/** @type {string} */ format) => () => download(`/reports/${report}`, { format }).catch(toastError);
    const formats = [["crash", "Apple’s text, .crash"], ["ips", "Apple’s .ips"], ["raw", "As it was sent"]];
    return [
        { text: "Copy as Markdown", hint: "y", icon: "copy", run: () => markdown().catch(toastError) },
        { text: "Copy the link", icon: "link", run: () => copy(location.href, "The link") },
        ...(report ? formats.map(([format, text]) => ({ text, icon: "download", group: "Download this report", run: save(format) })) : []),
        { text: "Links to source code…", group: "Settings of this browser", run: askSource },
    ];
}

/** @param {{project: string, issue: IssueDetail, report: string | undefined, sourceChanged: () => void}} props */
export function IssueActions({ project, issue, report, sourceChanged }) {
    const [asked, setAsked] = useState("");
    const session = useStore(login);
    const mayWrite = may(project, "member");
    const run = (/** @type {Record<string, any>} */ change, /** @type {string} */ text) => changeState([issue], change, text);
    const take = takeItems(issue, report, () => setAsked("source"));
    const actionKeys = [
        { keys: "e", text: "Resolve", run: () => run({ state: "resolved" }, "resolved") },
        { keys: "r", text: "Resolve in the next version", run: () => run({ resolved_in: "next" }, "resolved in the next version") },
        { keys: "i", text: "Ignore", run: () => run({ state: "ignored" }, "ignored") },
        { keys: "a", text: "Assign", run: () => setAsked("assign") },
        { keys: "m", text: "Merge", run: () => setAsked("merge") },
    ];
    useKeys([
        ...(mayWrite ? actionKeys : []),
        { keys: "y", text: "Copy as Markdown", run: take[0].run },
    ]);
    const close = () => setAsked("");
    const me = session.state === "in" ? session.session.user?.name : undefined;
    const edit = [
        { text: "Merge…", hint: "m", icon: "merge", run: () => setAsked("merge") },
        { text: "Rename…", run: () => setAsked("rename") },
    ];
    return html`<div class="buttons issue-actions">
        ${mayWrite && html`
            ${issue.state === "open"
                ? html`<${Menu} label="Resolve" icon="check" class="button primary" side="right"
                    items=${[...resolveItems(run), { text: "Resolved in version…", run: () => setAsked("resolve") }]} />`
                : html`<button type="button" class="button primary" onClick=${() => run({ state: "open" }, "open again")}>Reopen</button>`}
            ${issue.state !== "ignored" && html`<${Menu} label="Ignore" icon="mute" items=${ignoreItems(run)} side="right" />`}
            <button type="button" class="button" onClick=${() => setAsked("assign")}><${Icon} name="person" />${issue.assignee ? "Reassign" : "Assign"}</button>`}
        <${Menu} name="More actions" icon="more" plain class="button square" items=${[...(mayWrite ? edit : []), ...take]} side="right" />
        ${asked === "assign" && html`<${AssignDialog} issues=${[issue]} me=${me} close=${close} run=${(/** @type {string | null} */ name) => assign([issue], name)} />`}
        ${asked === "merge" && html`<${MergeDialog} issues=${[issue]} close=${close} run=${(/** @type {number} */ into) => merge([issue], into)} />`}
        ${asked === "resolve" && html`<${ResolveDialog} issue=${issue} close=${close} run=${run} />`}
        ${asked === "source" && html`<${SourceDialog} project=${project} close=${close} saved=${sourceChanged} />`}
        ${asked === "rename" && html`<${RenameDialog} issue=${issue} close=${close}
            run=${(/** @type {string} */ title) => patch(`/issues/${issue.number}`, { title: title || null }).then(issuesChanged, toastError)} />`}
    </div>`;
}
