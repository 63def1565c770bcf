/** One thread: a line with what it does, and when open its registers and frames, each with what else is known of it. */
import { html, useLayoutEffect, useRef, useState } from "../../lib/preact.js";
import { count, number } from "../../lib/format.js";
import { whyNoName } from "../../lib/frames.js";
import { sourceText, trustText, summary } from "../../lib/report.js";
import { pathTo } from "../../lib/router.js";
import { Registers } from "./memory.js";
import { Badge } from "../../ui/badge.js";
import { Icon } from "../../ui/icon.js";
import { Stack } from "../../ui/stack.js";

/** @param {{project: string, frame: import("../../lib/types.js").Frame}} props */
function FrameDetail({ project, frame }) {
    const own = frame.symbols[frame.symbols.length - 1];
    const symbols = `${pathTo(project, "symbols")}?uuid=${encodeURIComponent(frame.image_uuid ?? "")}`;
    const why = whyNoName(frame);
    const isMissing = frame.status === "missing_symbol_file" && frame.image_uuid;
    const rows = [
        ["Address", frame.address],
        ["Looked up", frame.lookup_address !== frame.address && frame.lookup_address],
        ["Image", frame.image && `${frame.image} + ${frame.image_offset ?? "?"}`],
        ["UUID", frame.image_uuid],
        ["Linker’s name", own?.mangled],
        ["In its function", own?.offset !== undefined && `${own.offset} bytes after its start`],
        ["Found", trustText(frame.trust)],
        ["Name from", own && sourceText(own.source)],
        ["No name", why && (isMissing ? html`<a href=${symbols}>${why}</a>` : why)],
        ["Rule of grouping", frame.rule],
        ["File", own?.file],
    ].filter(([, value]) => value);
    return html`<dl class="pairs frame-detail">${rows.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** @typedef {import("../../lib/types.js").Frame} Frame */

const SHOWN = 120;

/**
 * @param {{project: string, report: import("../../lib/types.js").Report, part: import("../../lib/report.js").Part, source: any,
 *   isAll: boolean, isFirst: boolean, found: number, isSearching: boolean, mark: number}} props
 */
export function ThreadBox({ project, report, part, source, isAll, isFirst, found, isSearching, mark }) {
    const { thread, frames, title } = part;
    const [isOpen, setOpen] = useState(isFirst);
    const [most, setMost] = useState(SHOWN);
    const root = useRef(/** @type {HTMLElement | null} */ (null));
    useLayoutEffect(() => {
        if (mark >= 0) setOpen(true);
    }, [mark]);
    useLayoutEffect(() => {
        if (mark >= 0 && isOpen) root.current?.querySelector(".frame.marked")?.scrollIntoView({ block: "center" });
    }, [mark, isOpen]);
    const samples = thread?.samples ?? 0;
    const facts = [thread?.queue && `Queue ${thread.queue}`, thread?.state, samples > 1 && count(samples, "sample")].filter(Boolean).join(" · ");
    const shown = frames.slice(0, Math.max(most, mark + 20));
    const detail = (/** @type {Frame} */ frame) => html`<${FrameDetail} project=${project} frame=${frame} />`;
    return html`<div class=${`thread ${part.isCrashed ? "crashed" : ""}`} ref=${root}>
        <h3><button type="button" class="thread-head" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}>
            <${Icon} name=${isOpen ? "down" : "right"} size=${12} />
            <span class="thread-name cut">${title}</span>
            ${part.isCrashed && html`<${Badge} kind="red">crashed<//>`}
            ${isSearching && found > 0 && html`<${Badge} kind="blue">${number(found)} found<//>`}
            ${!isOpen && html`<span class="thread-what cut">${summary(frames)}</span>`}
        </button></h3>
        ${isOpen && html`<div class="thread-body">
            ${facts && html`<p class="thread-facts">${facts}</p>`}
            <${Stack} frames=${shown} source=${source} version=${report.app?.version} all=${isAll || mark >= 0} label=${part.isCrashed ? "Stack of the crash" : `Stack of ${title}`}
                detail=${detail} mark=${mark >= 0 ? frames[mark] : undefined} />
            ${frames.length > shown.length && html`<p class="threads-more"><button type="button" class="linklike" onClick=${() => setMost(most + 500)}>${count(frames.length - shown.length, "more frame", "more frames")}</button></p>`}
            ${thread?.frames_truncated && html`<p class="thread-facts">The list of the client ended here, at its limit.</p>`}
            ${thread?.registers && html`<${Registers} report=${report} thread=${thread} />`}
        </div>`}
    </div>`;
}
