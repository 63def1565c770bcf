/** All threads of a report: the crashed one open, the others in one line each, and a search through every frame. */
import { html, useMemo, useRef, useState } from "../../lib/preact.js";
import { copy } from "../../lib/copy.js";
import { count } from "../../lib/format.js";
import { framesText } from "../../lib/frames.js";
import { useKeys } from "../../lib/keys.js";
import { findFrames, partsOf } from "../../lib/report.js";
import { Icon } from "../../ui/icon.js";
import { ThreadBox } from "./thread.js";

/** @typedef {import("../../lib/report.js").Part} Part */

const SHOWN = 60;

/**
 * @param {{text: string, setText: (text: string) => void, n: number, at: number, step: (by: number) => void, inputRef: any}} props
 */
function Search({ text, setText, n, at, step, inputRef }) {
    const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
        if (event.key === "Enter") {
            event.preventDefault();
            step(event.shiftKey ? -1 : 1);
        } else if (event.key === "Escape") {
            if (text) setText("");
            else inputRef.current?.blur();
        }
    };
    return html`<div class="frame-search" role="search">
        <input type="search" ref=${inputRef} aria-label="Search all frames" placeholder="Function, file, image" value=${text} maxlength="200"
            onInput=${(/** @type {any} */ event) => setText(event.target.value)} onKeyDown=${onKeyDown} />
        <span class="small muted nowrap" role="status">${text.trim() && (n ? `${at + 1} of ${n}` : "no frame")}</span>
        ${n > 0 && html`
            <button type="button" class="button square small" aria-label="Previous frame found" title="Previous (Shift Enter)" onClick=${() => step(-1)}><${Icon} name="left" /></button>
            <button type="button" class="button square small" aria-label="Next frame found" title="Next (Enter)" onClick=${() => step(1)}><${Icon} name="right" /></button>`}
    </div>`;
}

/** @param {{project: string, report: import("../../lib/types.js").Report, source: any}} props */
export function Threads({ project, report, source }) {
    const parts = useMemo(() => partsOf(report), [report]);
    const [text, setText] = useState("");
    const [at, setAt] = useState(0);
    const [isAll, setAll] = useState(false);
    const [most, setMost] = useState(SHOWN);
    const input = useRef(/** @type {HTMLInputElement | null} */ (null));
    const found = useMemo(() => findFrames(parts, text), [parts, text]);
    const now = found[Math.min(at, found.length - 1)];
    /** @type {Map<number, number>} */
    const counts = new Map();
    for (const { part } of found) counts.set(part, (counts.get(part) ?? 0) + 1);
    const step = (/** @type {number} */ by) => found.length && setAt((at + by + found.length) % found.length);
    useKeys([
        { keys: "/", text: "Search all frames", run: () => input.current?.select() },
        { keys: "f", text: "Show or fold system frames", run: () => setAll(!isAll) },
    ]);
    if (!parts.length) return html`<p class="muted no-frames">This report has no threads.</p>`;
    const main = parts.find((one) => one.isCrashed) ?? parts[0];
    const shown = Math.max(most, (now?.part ?? -1) + 1);
    return html`<section aria-label="Threads">
        <div class="report-head threads-head">
            <h2>${count(parts.filter((one) => one.thread).length, "thread")}</h2>
            <${Search} text=${text} setText=${(/** @type {string} */ next) => (setText(next), setAt(0))} n=${found.length} at=${Math.min(at, found.length - 1)} step=${step} inputRef=${input} />
            <span class="grow"></span>
            <button type="button" class="button ghost small" aria-pressed=${String(isAll)} onClick=${() => setAll(!isAll)}>${isAll ? "Fold system frames" : "All frames"}</button>
            <button type="button" class="button ghost small" disabled=${!main.frames.length} onClick=${() => copy(framesText(main.frames), "The stack")}><${Icon} name="copy" />Copy</button>
        </div>
        ${parts.slice(0, shown).map((part, i) => html`<${ThreadBox} key=${part.key} project=${project} report=${report} part=${part} source=${source}
            isAll=${isAll} isFirst=${i === 0 || part.isCrashed} found=${counts.get(i) ?? 0} isSearching=${!!text.trim()}
            mark=${now?.part === i ? now.frame : -1} />`)}
        ${parts.length > shown && html`<p class="threads-more"><button type="button" class="linklike" onClick=${() => setMost(parts.length)}>${count(parts.length - shown, "more thread", "more threads")}</button></p>`}
    </section>`;
}
