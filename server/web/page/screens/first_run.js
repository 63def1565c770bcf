/** The first steps of an empty project: a sample crash through the same API that apps use, and then the own app. */
import { html, useState, useEffect } from "../lib/preact.js";
import { get, readAsset, request } from "../lib/api.js";
import { changed, useLoad } from "../lib/load.js";
import { pathTo } from "../lib/router.js";
import { login, may } from "../lib/session.js";
import { useStore } from "../lib/store.js";
import { Snippets } from "./first_run/snippets.js";
import { Icon } from "../ui/icon.js";
import { Failure, Skeleton } from "../ui/state.js";

/**
 * @param {{n: number, title: string, what: any, isDone: boolean, isNext: boolean, may: boolean, button: string, href?: string,
 *   run?: (tell: (text: string) => void) => Promise<void>, done?: () => void, children?: any}} props
 *   isNext: its button is the one to press; may: the role allows it
 */
function Step({ n, title, what, isDone, isNext, may, button, href, run, done, children }) {
    const [doing, setDoing] = useState("");
    const [error, setError] = useState("");
    const start = async () => {
        setError("");
        setDoing("…");
        try {
            await run?.(setDoing);
            done?.();
        } catch (failure) {
            setError(/** @type {Error} */ (failure).message);
        }
        setDoing("");
    };
    const look = `button ${isNext ? "primary" : ""}`;
    return html`<li class=${`first-step ${isDone ? "done" : isNext ? "next" : ""}`}>
        <span class="step-mark" aria-hidden="true">${isDone ? html`<${Icon} name="check" />` : n}</span>
        <div class="step-body">
            <h2>${title}${isDone && html`<span class="unseen">: done</span>`}</h2>
            <p class="muted">${what}</p>
            ${children}
            ${!may && !isDone && html`<p class="small muted">Your role does not allow this: ask an admin of the project.</p>`}
            ${href && html`<div><a class=${look} href=${href}>${button}</a></div>`}
            ${run && may && !isDone && html`<div class="buttons">
                <button type="button" class=${look} disabled=${!isNext || !!doing} onClick=${start}>${button}</button>
                <span class="small muted" role="status">${doing}</span></div>`}
            ${error && html`<p class="form-error" role="alert">${error}</p>`}
        </div>
    </li>`;
}

const SAMPLE_APP = "com.example.demo";
const SAMPLE_UUID = "4c4c442e55553144a1387743844373d8";
const POLL_MS = 400, MOST_POLLS = 75;

/** What is there of the sample: its newest report, and its symbols. @param {AbortSignal} [signal] */
async function readSample(signal) {
    const [list, symbols] = await Promise.all([
        get("/reports", { app: SAMPLE_APP, limit: 1 }, signal),
        get(`/symbols/${SAMPLE_UUID}`, {}, signal).catch((error) => {
            if (error.status === 404) return null;
            throw error;
        }),
    ]);
    const row = list.reports[0];
    return { report: row ? await get(`/reports/${row.id}`, {}, signal) : null, hasSymbols: !!symbols };
}

/** Until the report has its names, or half a minute. @param {(text: string) => void} tell */
async function waitForNames(tell) {
    for (let turn = 0; turn < MOST_POLLS; turn++) {
        const { report } = await readSample();
        if (report?.status === "symbolicated" && report.issue?.number) return;
        tell("The report is being symbolicated…");
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    throw new Error("the report has no names yet; is a worker running? (framezero serve --workers, framezero worker)");
}

/** @param {{values: boolean, tell: (text: string) => void}} how */
async function sendCrash({ values, tell }) {
    if (values) {
        // The symbols come after the report, and give no values once its memory is dropped.
        tell("The project’s setting…");
        await request("PUT", "/project", { body: { values: "on", memory: "keep" } });
    }
    tell("Sending the report…");
    await request("POST", "/reports", { query: { wait: 10 }, body: await readAsset("sample/crash.json") });
}

/** @param {{tell: (text: string) => void}} how */
async function sendSymbols({ tell }) {
    tell("Uploading Demo.zip…");
    await request("POST", "/symbols", { query: { name: "Demo.zip" }, body: await readAsset("sample/Demo.zip") });
    await waitForNames(tell);
}

/** @param {{project: string}} props */
function SampleSteps({ project }) {
    const [values, setValues] = useState(true);
    const { data, error, reload } = useLoad(`sample/${project}`, readSample);
    if (error && !data) return html`<${Failure} error=${error} retry=${reload} />`;
    if (!data) return html`<${Skeleton} rows=${3} />`;
    const mayAll = may(project, "admin");
    const issue = data.report?.issue?.number;
    const n = data.report?.missing?.length ?? 0;
    const done = () => {
        for (const prefix of ["sample/", "issues?", "issue/", "any/", "versions/"]) changed(prefix);
    };
    return html`<ol class="first-steps">
        <${Step} n=${1} title="Send a crash" isDone=${!!data.report} isNext=${!data.report} may=${mayAll} button="Send the sample crash" run=${(/** @type {any} */ tell) => sendCrash({ values, tell })} done=${done}
            what=${data.report ? html`The report of the app <code>Demo</code> arrived. It has registers, the stack and addresses, and no names.` : "A small iOS app crashed. Its report has registers, the stack and addresses: all that a phone knows."}>
            ${!data.report && mayAll && html`<label class="check"><input type="checkbox" checked=${values} onChange=${(/** @type {any} */ event) => setValues(event.target.checked)} />
                <span>Show values of variables in this project</span></label>
                <p class="small muted">Values may hold personal data, so they are off until an admin turns them on. Symbols that come after a report find values in its
                    memory only, so memory is kept, for 14 days. Off again: <code>framezero project set ${project} --values off --memory drop</code></p>`}
        <//>
        <${Step} n=${2} title="Upload its symbols" isDone=${data.hasSymbols && !!issue} isNext=${!!data.report && !(data.hasSymbols && issue)} may=${may(project, "member")} button="Upload the sample’s dSYM" run=${(/** @type {any} */ tell) => sendSymbols({ tell })} done=${done}
            what=${data.hasSymbols && issue ? "The dSYM with the UUID of that build gave the report its functions, files and lines." : html`The dSYM of exactly that build turns addresses into names. ${n > 0 && html`The report waits for <code>${data.report.missing[0].name}</code>.`} Reports that came before it are done again by themselves.`} />
        <${Step} n=${3} title="Look at it" isDone=${false} isNext=${!!issue && data.hasSymbols} may=${true} href=${issue ? pathTo(project, "issues", issue) : undefined} button="Open the issue"
            what="Reports with one cause are one issue: its stack, the variables of each frame, and where it happens." />
    </ol>`;
}

/** @param {{project: string, route: import("../lib/router.js").Route}} props */
export function Screen({ project }) {
    const now = useStore(login);
    const id = now.state === "in" ? now.session.projects.find((one) => one.name === project)?.id ?? 1 : 1;
    useEffect(() => {
        document.title = `First steps – ${project} – framezero`;
    }, [project]);
    return html`<div class="first-run">
        <h1>First steps</h1>
        <p class="muted">Three steps with a sample, from addresses to a crash with names and values of variables. No Mac is needed.</p>
        <${SampleSteps} key=${project} project=${project} />
        <section aria-labelledby="connect">
            <h2 id="connect">Connect your app</h2>
            <${Snippets} project=${project} id=${id} />
        </section>
    </div>`;
}
