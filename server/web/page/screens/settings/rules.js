/** What a project does with its reports: the rules of grouping, and what it keeps of them. */
import { html, useRef, useState } from "../../lib/preact.js";
import { get, post, request } from "../../lib/api.js";
import { count } from "../../lib/format.js";
import { changed, useLoad } from "../../lib/load.js";
import { pathTo } from "../../lib/router.js";
import { fullTime } from "../../lib/time.js";
import { Badge } from "../../ui/badge.js";
import { attempt, Field, Form, Lines, cleanLines } from "../../ui/form.js";
import { Failure, Skeleton } from "../../ui/state.js";
import { toast } from "../../ui/toast.js";
import { ScrubForm } from "./scrub.js";

/**
 * @typedef {{kind: string, number: number, title?: string, reports: number, into: {number?: number, title?: string}}} Example
 * @typedef {{stacks: number, moved: number, reports: number, merged: number, split: number, new: number, examples: Example[]}} Effect
 * @typedef {{version: number, at: string, actor: string, rules: string, undoes?: number, undone?: boolean, merged: number, split: number}} Version
 */

const EXAMPLE = "own path \"*/Pods/OurKit/*\"\nnot-own image Analytics*\nskip function Shop.Log.*\n";

/** What rules would change. @param {{effect: Effect, project: string}} props */
function EffectBox({ effect, project }) {
    const link = (/** @type {number | undefined} */ number, /** @type {string | undefined} */ title) => html`${number
        ? html`<a href=${pathTo(project, "issues", number)}>#${number}</a>` : "a new issue"} ${title}`;
    return html`<div class="panel" role="status">
        <p>${effect.moved
            ? html`<b>${effect.moved} of ${count(effect.stacks, "stack")}</b>, with ${count(effect.reports, "report")}, would count
                elsewhere: ${count(effect.merged, "issue")} would become part of others, ${count(effect.split, "issue")} would lose a part, ${count(effect.new, "issue")} would be new.`
            : `Nothing would change for the ${count(effect.stacks, "stack")} that are there.`}</p>
        <ul class="examples">${effect.examples.map((one) => html`<li key=${`${one.number} ${one.into.number}`}>${link(one.number, one.title)}
            ${" "}<span class="muted">${one.kind === "merged" ? "becomes part of" : `loses ${count(one.reports, "report")} to`}</span> ${link(one.into.number, one.into.title)}</li>`)}</ul>
    </div>`;
}

/** @param {{text: string, set: (text: string) => void, error: string, area: {current: HTMLTextAreaElement | null}}} props */
function Editor({ text, set, error, area }) {
    const line = Number(/line (\d+)/.exec(error)?.[1]);
    const lines = text.split("\n");
    return html`<div class="editor">
        <ol aria-hidden="true">${lines.map((_, i) => html`<li key=${i} class=${i + 1 === line ? "wrong" : ""}>${i + 1}</li>`)}</ol>
        <textarea ref=${area} aria-label="Rules" aria-invalid=${error ? "true" : undefined} aria-describedby="rules-error" wrap="off" spellcheck=${false}
            autocapitalize="off" rows=${Math.max(6, lines.length + 1)} placeholder=${EXAMPLE} value=${text} onInput=${(/** @type {any} */ event) => set(event.target.value)} />
    </div>`;
}

/** @param {{project: string}} props */
export function Rules({ project }) {
    const key = `grouping/${project}`;
    const { data, error, reload } = useLoad(key, (signal) => get("/grouping", {}, signal));
    // What is based on rules that somebody else has changed meanwhile is refused.
    const [draft, setDraft] = useState(/** @type {{text: string, version: number} | null} */ (null));
    const [effect, setEffect] = useState(/** @type {Effect | null} */ (null));
    const [wrong, setWrong] = useState("");
    const [isBusy, setBusy] = useState(false);
    const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
    if (error && !data) return html`<${Failure} error=${error} retry=${reload} />`;
    if (!data) return html`<${Skeleton} />`;
    const text = draft?.text ?? data.rules;
    const history = /** @type {Version[]} */ (data.history);
    const forget = () => (setEffect(null), setWrong(""));
    const edit = (/** @type {string} */ next) => (setDraft({ text: next, version: draft?.version ?? data.version }), forget());
    const discard = () => (setDraft(null), forget(), changed(key));
    const undo = () => attempt(() => post("/grouping/undo"), "The last change is taken back").then(discard);
    /** @param {() => Promise<any>} run */
    const send = async (run) => {
        setBusy(true);
        forget();
        try {
            await run();
        } catch (failure) {
            const { message } = /** @type {Error} */ (failure);
            setWrong(message);
            const at = /line (\d+), column (\d+)/.exec(message);
            if (at) {
                const start = text.split("\n").slice(0, Number(at[1]) - 1).join("\n").length + (at[1] === "1" ? 0 : 1) + Number(at[2]) - 1;
                area.current?.focus();
                area.current?.setSelectionRange(start, start + Math.max(1, text.slice(start).search(/\s|$/)));
            }
        }
        setBusy(false);
    };
    const body = { rules: text, version: draft?.version ?? data.version };
    const dryRun = () => send(async () => setEffect(await post("/grouping/dry-run", { rules: text })));
    const apply = () => send(async () => {
        await request("PUT", "/grouping", { body });
        discard();
        toast("The rules are applied to all reports", { action: { text: "Undo", run: undo } });
    });
    return html`
        <p class="muted">One rule on each line says whose code a frame is (<code>own</code>, <code>not-own</code>), what to <code>skip</code>, and
            what to <code>group-by</code>. The last line that matches decides. New rules also apply to the reports that are there.</p>
        <${Editor} text=${text} set=${edit} error=${wrong} area=${area} />
        <p id="rules-error" role="alert" class=${wrong ? "form-error" : "unseen"}>${wrong}</p>
        <div class="buttons">
            <button type="button" class="button" disabled=${isBusy} onClick=${dryRun}>Try it</button>
            <button type="button" class="button primary" disabled=${isBusy || text === data.rules} onClick=${apply}>${isBusy ? "…" : "Apply"}</button>
            ${draft && html`<button type="button" class="button ghost" onClick=${discard}>Discard changes</button>`}
        </div>
        ${effect && html`<${EffectBox} effect=${effect} project=${project} />`}
        ${history.length > 0 && html`<h3>History</h3><ul class="rows">${history.map((one) => html`<li key=${one.version} class="file"><div class="file-main">
            <div class="file-line"><b>${one.undoes ? `took back version ${one.undoes}` : `version ${one.version}`}</b>${one.undone && html`<${Badge}>taken back<//>`}
                <span class="small muted">${one.actor}, ${fullTime(one.at)}: ${one.merged} merged, ${one.split} split</span></div></div></li>`)}</ul>`}
        ${history.some((one) => !one.undoes && !one.undone) && html`<div class="buttons"><button type="button" class="button" onClick=${undo}>Undo the last change</button></div>`}`;
}

/**
 * @typedef {{values: string, memory: string, memory_days: number, redact_allow: string[], redact_deny: string[],
 *   scrub: string, scrub_rules: string[]}} Settings
 */

/** @param {{settings: Settings, project: string}} props */
function PrivacyForm({ settings, project }) {
    const [now, setNow] = useState(settings);
    const set = (/** @type {Partial<Settings>} */ some) => setNow({ ...now, ...some });
    const send = async () => {
        const { values, memory } = now;
        const body = { values, memory, memory_days: Number(now.memory_days), redact_allow: cleanLines(now.redact_allow), redact_deny: cleanLines(now.redact_deny) };
        await request("PUT", "/project", { body });
        changed(`project/${project}`);
        toast("It counts for reports that are processed from now on");
    };
    const check = (/** @type {"values" | "memory"} */ name, /** @type {string[]} */ [on, off], /** @type {string} */ text) => html`<label class="check">
        <input type="checkbox" checked=${now[name] === on} onChange=${(/** @type {any} */ event) => set({ [name]: event.target.checked ? on : off })} /><span>${text}</span></label>`;
    return html`<${Form} text="Save" send=${send}>
        <div>${check("values", ["on", "off"], "Read values of variables and store them with reports")}
            <p class="small muted">Members and admins see them, viewers do not. What looks like a secret is redacted before it is stored.</p></div>
        <div>${check("memory", ["keep", "drop"], "Keep reports as they were sent, with their memory")}
            <p class="small muted">Then values can also be read when symbol files come later.</p></div>
        ${now.memory === "keep" && html`<${Field} label="Days until memory is deleted" type="number" min="1" max="366" required value=${now.memory_days}
            set=${(/** @type {any} */ text) => set({ memory_days: text })} />`}
        <${Lines} label="Also redact, one on each line" help=${"salary\ntype:Shop.Card"} list=${now.redact_deny} set=${(/** @type {string[]} */ list) => set({ redact_deny: list })} />
        <${Lines} label="Do not redact, one on each line" help=${"tokenCount\nfunction:Shop.Lexer.*"} list=${now.redact_allow} set=${(/** @type {string[]} */ list) => set({ redact_allow: list })} />
    <//>`;
}

/** @param {{project: string}} props */
export function Privacy({ project }) {
    const { data, error, reload } = useLoad(`project/${project}`, (signal) => get("/project", {}, signal));
    if (error && !data) return html`<${Failure} error=${error} retry=${reload} />`;
    if (!data) return html`<${Skeleton} />`;
    return html`<p class="muted">By default nothing of a crashed process’s memory is kept, and no value is shown.</p>
        <${PrivacyForm} key=${project} settings=${data} project=${project} />
        <h3>What is masked in texts</h3>
        <${ScrubForm} key=${`scrub ${project}`} settings=${data} project=${project} />`;
}
