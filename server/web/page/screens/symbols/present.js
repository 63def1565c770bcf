/** The symbol files that are there: what each gives, and what is wrong with it. */
import { html, useState } from "../../lib/preact.js";
import { get, request } from "../../lib/api.js";
import { bytes } from "../../lib/format.js";
import { changed } from "../../lib/load.js";
import { usePages } from "../../lib/pages.js";
import { may } from "../../lib/session.js";
import { featureText, fileKind, verdictOf } from "../../lib/symbols.js";
import { fullTime } from "../../lib/time.js";
import { Badge } from "../../ui/badge.js";
import { Dialog, DialogButtons } from "../../ui/dialog.js";
import { LongText } from "../../ui/text.js";
import { Failure, Skeleton } from "../../ui/state.js";
import { toast, toastError } from "../../ui/toast.js";

/** @typedef {import("../../lib/types.js").SymbolFile} SymbolFile */

/** Every list of symbol files is loaded again, and so are reports, which get names. */
export function symbolsChanged() {
    changed("symbols");
    changed("report");
    changed("issue");
}

/** @param {{file: SymbolFile, close: () => void}} props */
function DeleteDialog({ file, close }) {
    const [isBusy, setBusy] = useState(false);
    const submit = async (/** @type {Event} */ event) => {
        event.preventDefault();
        setBusy(true);
        try {
            await request("DELETE", `/symbols/${file.uuid}`);
            toast(`The symbol files of ${file.name ?? file.uuid} were deleted`);
            symbolsChanged();
            close();
        } catch (error) {
            toastError(error);
            setBusy(false);
        }
    };
    return html`<${Dialog} title="Delete these symbol files?" close=${close}>
        <form class="form" onSubmit=${submit}>
            <p>All files of <strong>${file.name}</strong> with the UUID <code>${file.uuid}</code> are deleted. Reports keep the names that they have; new ones get none.</p>
            <${DialogButtons} text="Delete" danger isBusy=${isBusy} close=${close} />
        </form>
    <//>`;
}

/** One slice of a file, also in the result of an upload. @param {{file: SymbolFile, children?: any}} props */
export function FileRow({ file, children }) {
    const verdict = verdictOf(file);
    const problems = file.problems ?? [];
    return html`<li class="file">
        <div class="file-main">
            <p class="file-line"><strong class="file-name">${file.name ?? "unnamed"}</strong>
                <${Badge} kind=${verdict.kind}>${verdict.text}<//>
                ${file.status === "known" && html`<${Badge}>was there<//>`}
                <span class="muted small">${[fileKind(file.kind), file.arch, bytes(file.size ?? 0)].filter(Boolean).join(" · ")}</span></p>
            <p class="mono tiny muted file-uuid">${file.uuid}</p>
            <p class="small">${featureText(file)}${file.uploaded && html`<span class="muted"> · ${fullTime(file.uploaded)}</span>`}</p>
            ${problems.map((one, i) => html`<p key=${i} class="small file-problem"><${LongText} text=${one.text} most=${400} /></p>`)}
            ${file.verdict?.todo && html`<p class="small muted">${file.verdict.todo}</p>`}
        </div>
        ${children}
    </li>`;
}

/** @param {{project: string}} props */
export function PresentFiles({ project }) {
    const [asked, setAsked] = useState(/** @type {SymbolFile | null} */ (null));
    const load = async (/** @type {any} */ page, /** @type {AbortSignal | undefined} */ signal) => {
        const { symbols, next_cursor } = await get("/symbols", page, signal);
        return { rows: /** @type {SymbolFile[]} */ (symbols), next: next_cursor, more: null };
    };
    const { data, error, reload, loadMore } = usePages("symbols/present", load, (file) => `${file.uuid} ${file.kind} ${file.name}`);
    const rows = /** @type {SymbolFile[]} */ (data?.rows ?? []);
    const isAdmin = may(project, "admin");
    return html`<section>
        <h2>${rows.length ? `${rows.length}${data?.next ? "+" : ""} symbol ${rows.length === 1 ? "file" : "files"}` : "Symbol files"}</h2>
        ${error && !data && html`<${Failure} error=${error} retry=${reload} />`}
        ${!data && !error && html`<${Skeleton} rows=${3} />`}
        ${data && !rows.length && html`<p class="muted small">No file was uploaded yet.</p>`}
        ${rows.length > 0 && html`<ul class="files">${rows.map((file, i) => html`<${FileRow} key=${`${file.uuid}${file.kind}${i}`} file=${file}>
            ${isAdmin && html`<button type="button" class="button ghost small" aria-label=${`Delete ${file.name ?? file.uuid}`} onClick=${() => setAsked(file)}>Delete…</button>`}
        <//>`)}</ul>`}
        ${data?.next && html`<button type="button" class="button" onClick=${loadMore}>More</button>`}
        ${asked && html`<${DeleteDialog} file=${asked} close=${() => setAsked(null)} />`}
    </section>`;
}
