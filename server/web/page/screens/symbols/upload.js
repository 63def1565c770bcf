/** Sending symbol files: dropped or chosen, one after the other, each with its progress and what came of it. */
import { html, useEffect, useRef, useState } from "../../lib/preact.js";
import { get, upload } from "../../lib/api.js";
import { bytes, count } from "../../lib/format.js";
import { pathTo, queryText } from "../../lib/router.js";
import { may } from "../../lib/session.js";
import { Icon } from "../../ui/icon.js";
import { FileRow, symbolsChanged } from "./present.js";

/**
 * @typedef {{id: number, file: File, part: number, state: "waiting" | "sending" | "reading" | "done" | "failed",
 *   files?: import("../../lib/types.js").SymbolFile[], unblocked?: number, waiting?: number, error?: string}} Sent
 */

const ASK_MS = 1500;
const ASK_FOR_MS = 30 * 60e3;

const pause = () => new Promise((resolve) => setTimeout(resolve, ASK_MS));

/** The result of an upload that a worker has not read yet. @param {string} id */
async function resultOf(id) {
    const end = Date.now() + ASK_FOR_MS;
    while (Date.now() < end) {
        await pause();
        const answer = await get(`/uploads/${encodeURIComponent(id)}`);
        if (answer.status === "done") return answer.result;
        if (answer.status === "failed") throw new Error(answer.error?.message ?? "the file could not be read");
    }
    throw new Error("no worker has read it within 30 minutes; it is stored and will be read when one has time");
}

/** How many of the reports that were waiting still do. @param {string[]} uuids @param {(n: number) => void} tell */
async function watch(uuids, tell) {
    const wanted = new Set(uuids);
    const end = Date.now() + ASK_FOR_MS;
    while (Date.now() < end) {
        const { missing } = await get("/symbols/missing", { limit: 500 });
        const images = missing.filter((/** @type {{uuid: string}} */ one) => wanted.has(one.uuid));
        const n = images.reduce((/** @type {number} */ most, /** @type {{reports: number}} */ one) => Math.max(most, one.reports), 0);
        tell(n);
        symbolsChanged();
        if (!n) return;
        await pause();
    }
}

/** @param {{project: string, sent: Sent}} props */
function SentRow({ project, sent }) {
    const { file, part, state, files = [], unblocked = 0, waiting, error } = sent;
    const uuids = [...new Set(files.map((one) => one.uuid))];
    const reports = pathTo(project, "reports") + queryText({ query: `uuid:${uuids.slice(0, 20).join(",")}` });
    const texts = { waiting: "waits for its turn", sending: `${Math.round(part * 100)} %`, reading: "is being read", done: "", failed: "" };
    return html`<li class="sent">
        <p class="file-line"><strong class="file-name">${file.name}</strong><span class="muted small">${bytes(file.size)}</span>
            <span class="small" role="status">${texts[state]}</span></p>
        ${state === "sending" && html`<progress max="1" value=${part} aria-label=${`Upload of ${file.name}`}></progress>`}
        ${error && html`<p class="form-error small" role="alert">${error}</p>`}
        ${state === "done" && html`
            <p class="small unblocked" role="status">${unblocked
                ? html`${count(unblocked, "report")} waited for it${waiting ? `; ${count(waiting, "report")} left to do` : waiting === 0 ? " and got new names." : ""} <a href=${reports}>Show the reports</a>`
                : "No report waited for it."}</p>
            <ul class="files">${files.slice(0, 100).map((one, i) => html`<${FileRow} key=${i} file=${one} />`)}</ul>
            ${files.length > 100 && html`<p class="small muted">and ${files.length - 100} more files</p>`}`}
    </li>`;
}

/** @param {{project: string}} props */
export function UploadBox({ project }) {
    const [sent, setSent] = useState(/** @type {Sent[]} */ ([]));
    const [isOver, setOver] = useState(false);
    const input = useRef(/** @type {HTMLInputElement | null} */ (null));
    const chain = useRef(Promise.resolve());
    const last = useRef(0);
    const mayUpload = may(project, "member");
    const change = (/** @type {number} */ id, /** @type {Partial<Sent>} */ how) => setSent((all) => all.map((one) => (one.id === id ? { ...one, ...how } : one)));
    const send = async (/** @type {Sent} */ { id, file }) => {
        try {
            change(id, { state: "sending" });
            const progress = (/** @type {number} */ part) => change(id, part < 1 ? { part } : { part, state: "reading" });
            const answer = await upload("/symbols", file, { name: file.name }, { progress });
            change(id, { state: "reading" });
            const { files, unblocked_reports: unblocked } = answer.files ? answer : await resultOf(answer.upload);
            change(id, { state: "done", files, unblocked });
            symbolsChanged();
            const uuids = files.map((/** @type {{uuid: string}} */ one) => one.uuid);
            if (unblocked) watch(uuids, (waiting) => change(id, { waiting })).catch(() => {});
        } catch (error) {
            change(id, { state: "failed", error: /** @type {Error} */ (error).message });
        }
    };
    const add = (/** @type {Iterable<File>} */ files) => {
        const more = [...files].map((file) => ({ id: ++last.current, file, part: 0, state: /** @type {const} */ ("waiting") }));
        setSent((all) => [...more, ...all]);
        for (const one of more) chain.current = chain.current.then(() => send(one));
    };
    useEffect(() => {
        if (!mayUpload) return;
        // Anywhere on the page: a file that misses the box would leave the page.
        const over = (/** @type {DragEvent} */ event) => (event.preventDefault(), setOver(event.type === "dragover"));
        const drop = (/** @type {DragEvent} */ event) => (event.preventDefault(), setOver(false), add(event.dataTransfer?.files ?? []));
        addEventListener("dragover", over);
        addEventListener("dragleave", over);
        addEventListener("drop", drop);
        return () => (removeEventListener("dragover", over), removeEventListener("dragleave", over), removeEventListener("drop", drop));
    }, [mayUpload]);
    if (!mayUpload) return null;
    return html`<section class=${`upload ${isOver ? "over" : ""}`} aria-label="Upload">
        <div class="upload-box">
            <p><strong>Drop symbol files here</strong> <span class="muted">zipped .dSYM or .xcarchive, tar.gz, or a binary</span></p>
            <button type="button" class="button" onClick=${() => input.current?.click()}><${Icon} name="download" />Choose files…</button>
            <input type="file" multiple hidden ref=${input} aria-label="Symbol files" onChange=${(/** @type {any} */ event) => (add(event.target.files), (event.target.value = ""))} />
        </div>
        ${sent.length > 0 && html`<ul class="sents" aria-label="Uploads">${sent.map((one) => html`<${SentRow} key=${one.id} project=${project} sent=${one} />`)}</ul>`}
    </section>`;
}
