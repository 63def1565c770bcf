/** A stack: own frames prominent, runs of system frames folded, inlined calls as lines of their own, variables below. */
import { html, useEffect, useState } from "../lib/preact.js";
import { crashMeaning } from "../lib/crash.js";
import { copy } from "../lib/copy.js";
import { count } from "../lib/format.js";
import { foldFrames, foldText, placeOf, whyNoName } from "../lib/frames.js";
import { sourceOf } from "../lib/source.js";
import { Icon } from "./icon.js";
import { LongText } from "./text.js";
import { availabilityText, Variables } from "./variables.js";

/**
 * @typedef {import("../lib/types.js").Frame} Frame
 * @typedef {import("../lib/types.js").Sym} Sym
 * @typedef {import("../lib/source.js").SourceSetting} SourceSetting
 * @typedef {{source: SourceSetting, version?: string, detail?: (frame: Frame) => any, mark?: Frame}} How
 */

/** @param {{symbol: Sym, source: SourceSetting, version?: string}} props */
function Place({ symbol, source, version }) {
    const place = placeOf(symbol);
    if (!place) return null;
    const target = sourceOf(source, symbol, version);
    if (target?.href) return html`<a class="place" href=${target.href} target="_blank" rel="noopener noreferrer" title=${symbol.file}>${place}</a>`;
    if (target?.command) {
        return html`<button type="button" class="place linklike" title=${target.command}
            onClick=${() => copy(/** @type {string} */ (target.command), "The command")}>${place}</button>`;
    }
    return html`<span class="place" title=${symbol.file}>${place}</span>`;
}

/** The number of a frame, which opens what else is known of it. @param {{index: number, toggle?: () => void, isOpen: boolean}} props */
function FrameIndex({ index, toggle, isOpen }) {
    if (!toggle) return index;
    return html`<button type="button" class="frame-number" aria-expanded=${String(isOpen)} aria-label=${`Frame ${index}: details`}
        title="Address, and how it was found" onClick=${toggle}>${index}</button>`;
}

/** @param {{frame: Frame, symbol: Sym, number: any, source: SourceSetting, version?: string, isOpen: boolean}} props */
function SymbolLine({ frame, symbol, number, source, version, isOpen: isOpenFirst }) {
    const [isOpen, setOpen] = useState(isOpenFirst);
    useEffect(() => setOpen(isOpenFirst), [isOpenFirst]);
    const n = symbol.variables?.length ?? 0;
    const why = availabilityText(symbol.variables_availability);
    return html`<div class="symbol">
        <span class="frame-index">${number}</span>
        <div class="symbol-body">
            <div class="symbol-line">
                <span class="function">${symbol.function ?? frame.address}</span>
                ${symbol.inlined && html`<span class="inlined" title="The compiler put this function into the one below"><${Icon} name="inline" size=${12} />inlined</span>`}
                <span class="symbol-where">
                    <${Place} symbol=${symbol} source=${source} version=${version} />
                    ${!symbol.inlined && html`<span class="image">${frame.image}</span>`}
                    ${n > 0 && html`<button type="button" class="vars-button" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}>
                        <${Icon} name=${isOpen ? "down" : "right"} size=${12} />${count(n, "variable")}</button>`}
                    ${!n && frame.in_app && why && html`<span class="muted tiny">variables: ${why}</span>`}
                </span>
            </div>
            ${isOpen && html`<${Variables} symbol=${symbol} />`}
        </div>
    </div>`;
}

/** @param {{frame: Frame, how: How, isOpen: boolean}} props */
function FrameRow({ frame, how, isOpen }) {
    const { source, version, detail, mark } = how;
    const [hasDetail, setDetail] = useState(false);
    const isMarked = mark === frame;
    const label = `${frame.in_app ? "own" : "system"}${frame.anchor ? " anchor" : ""}${isMarked ? " marked" : ""}`;
    const toggle = detail && (() => setDetail(!hasDetail));
    const number = html`<${FrameIndex} index=${frame.index} toggle=${toggle} isOpen=${hasDetail} />`;
    return html`<li class=${`frame ${label}`} aria-current=${isMarked ? "true" : undefined}>
        ${frame.symbols.length
            ? frame.symbols.map((symbol, i) => html`<${SymbolLine} key=${i} frame=${frame} symbol=${symbol} number=${i === 0 && number}
                source=${source} version=${version} isOpen=${isOpen} />`)
            : html`<div class="symbol">
                <span class="frame-index">${number}</span>
                <div class="symbol-body">
                    <span class="function nameless">${frame.image ? `${frame.image} + ${frame.image_offset ?? frame.address}` : frame.address}</span>
                    <span class="symbol-where"><span class="var-word">${whyNoName(frame)}</span></span>
                </div>
            </div>`}
        ${hasDetail && detail?.(frame)}
    </li>`;
}

/** @param {{part: any, how: How}} props */
function Fold({ part, how }) {
    const [isOpen, setOpen] = useState(false);
    return html`
        <li class="fold"><button type="button" class="fold-button" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}>
            <${Icon} name=${isOpen ? "down" : "right"} size=${12} />${foldText(part)}</button></li>
        ${isOpen && part.frames.map((/** @type {Frame} */ frame) => html`<${FrameRow} key=${frame.index} frame=${frame} how=${how} isOpen=${false} />`)}`;
}

/**
 * @param {{frames: Frame[], source: SourceSetting, version?: string, all?: boolean, label: string, openVariables?: boolean,
 *   detail?: (frame: Frame) => any, mark?: Frame}} props
 *   all: fold nothing; openVariables: of every frame, not only of the one that decides the issue; detail: what a click on a
 *   frame's number opens; mark: a frame that was searched for
 */
export function Stack({ frames, source, version, all = false, label, openVariables = false, detail, mark }) {
    if (!frames.length) return html`<p class="muted no-frames">This report has no frames.</p>`;
    const how = { source, version, detail, mark };
    const first = frames.find((frame) => frame.anchor) ?? frames.find((frame) => frame.in_app);
    const parts = all ? frames.map((frame) => ({ kind: /** @type {const} */ ("frame"), frame })) : foldFrames(frames);
    return html`<ol class="stack" aria-label=${label}>
        ${parts.map((part) => part.kind === "frame"
            ? html`<${FrameRow} key=${part.frame.index} frame=${part.frame} how=${how} isOpen=${openVariables || part.frame === first} />`
            : html`<${Fold} key=${`fold${part.frames[0].index}`} part=${part} how=${how} />`)}
    </ol>`;
}

/** What happened, in words, with the reason and what the system called it. @param {{report: import("../lib/types.js").Report}} props */
export function CrashBox({ report }) {
    const { what, why, codes } = crashMeaning(report);
    return html`<div class="crash">
        <p class="crash-what">${what}</p>
        ${why && html`<pre class="crash-why" tabindex=${why.length > 400 ? 0 : undefined}><${LongText} text=${why} /></pre>`}
        ${codes.length > 0 && html`<p class="crash-codes muted">${codes.join(" · ")}</p>`}
    </div>`;
}
