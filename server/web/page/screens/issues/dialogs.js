/** The questions before an action: who, into which issue, in which version. */
import { html, useEffect, useState } from "../../lib/preact.js";
import { get } from "../../lib/api.js";
import { count } from "../../lib/format.js";
import { Dialog, DialogButtons } from "../../ui/dialog.js";
import { IssueTitle } from "../../ui/badge.js";

/** @typedef {import("../../lib/types.js").Issue} Issue */

/** @param {{issues: Issue[], run: (assignee: string | null) => void, close: () => void, me?: string}} props */
export function AssignDialog({ issues, run, close, me }) {
    const [name, setName] = useState(issues.length === 1 ? issues[0].assignee ?? "" : "");
    const [known, setKnown] = useState(/** @type {string[]} */ ([]));
    useEffect(() => {
        const add = (/** @type {any} */ answer) =>
            setKnown([...new Set([...(me ? [me] : []), ...answer.issues.map((/** @type {Issue} */ one) => one.assignee)])]);
        get("/issues", { query: "has:assignee", limit: 100 }).then(add, () => {});
    }, []);
    const submit = (/** @type {Event} */ event) => {
        event.preventDefault();
        close();
        run(name.trim() || null);
    };
    return html`<${Dialog} title=${`Assign ${issues.length === 1 ? `#${issues[0].number}` : count(issues.length, "issue")}`} close=${close}>
        <form class="form" onSubmit=${submit}>
            <label class="field"><span>To</span>
                <input type="text" list="assignees" maxlength="200" autocomplete="off" value=${name} data-first
                    onInput=${(/** @type {any} */ event) => setName(event.target.value)} placeholder="nobody" />
            </label>
            <datalist id="assignees">${known.map((one) => html`<option key=${one} value=${one} />`)}</datalist>
            ${me && name !== me && html`<button type="button" class="button" onClick=${() => setName(me)}>Me (${me})</button>`}
            <${DialogButtons} text="Assign" close=${close} />
        </form>
    <//>`;
}

/** @param {{issue: Issue, isChosen: boolean, choose: () => void, why?: string}} props why: what both have */
function MergeChoice({ issue, isChosen, choose, why }) {
    return html`<label class="choice">
        <input type="radio" name="into" checked=${isChosen} onChange=${choose} />
        <span class="grow choice-name">
            <span class="cut"><span class="muted">#${issue.number}</span> <${IssueTitle} title=${issue.title} /></span>
            ${why && html`<span class="muted tiny cut" title=${why}>${why}</span>`}
        </span>
        <span class="muted small nowrap">${count(issue.reports, "report")}</span>
    </label>`;
}

/** @param {Issue[]} issues what similar issues there are, if this server knows */
function useSimilar(issues) {
    const [similar, setSimilar] = useState(/** @type {any[]} */ ([]));
    const only = issues.length === 1 ? issues[0].number : 0;
    useEffect(() => {
        if (only) get(`/issues/${only}/similar`).then((answer) => setSimilar(answer.similar), () => {});
    }, [only]);
    return similar.filter((one) => one.number !== only);
}

/** @param {{issues: Issue[], run: (into: number) => Promise<void>, close: () => void}} props */
export function MergeDialog({ issues, run, close }) {
    const similar = useSimilar(issues);
    const biggest = [...issues].sort((a, b) => b.reports - a.reports)[0];
    const [into, setInto] = useState(issues.length > 1 ? String(biggest.number) : "");
    const [error, setError] = useState("");
    const [isBusy, setBusy] = useState(false);
    const target = Number(/(\d+)\/?$/.exec(into.trim().replace(/[?#].*$/, ""))?.[1] ?? NaN);
    const submit = async (/** @type {Event} */ event) => {
        event.preventDefault();
        setBusy(true);
        setError("");
        try {
            await run(target);
            close();
        } catch (failure) {
            setError(/** @type {Error} */ (failure).message);
            setBusy(false);
        }
    };
    const choices = issues.length > 1 ? issues : similar;
    return html`<${Dialog} title=${issues.length === 1 ? `Merge #${issues[0].number}` : `Merge ${issues.length} issues`} close=${close}>
        <form class="form" onSubmit=${submit}>
            <p class="muted">All reports, those that are there and those that come, go to one issue, which keeps its title, state and assignee.
                Splitting off a variant takes it back.</p>
            ${choices.length > 0 && html`<fieldset class="choices"><legend>${issues.length > 1 ? "Into" : "Similar issues"}</legend>
                ${choices.map((issue) => html`<${MergeChoice} key=${issue.number} issue=${issue} isChosen=${target === issue.number}
                    choose=${() => setInto(String(issue.number))}
                    why=${issue.why} />`)}
            </fieldset>`}
            ${issues.length === 1 && html`<label class="field"><span>Into the issue with this number, or its link</span>
                <input type="text" inputmode="url" required value=${into} data-first autocomplete="off"
                    onInput=${(/** @type {any} */ event) => setInto(event.target.value)} placeholder="12" /></label>`}
            ${error && html`<p class="form-error" role="alert">${error}</p>`}
            <${DialogButtons} text="Merge" isBusy=${isBusy} disabled=${!Number.isInteger(target)} close=${close} />
        </form>
    <//>`;
}
