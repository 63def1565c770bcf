/** Stacks as the page shows them: own frames one by one, what lies between them folded. */

/**
 * @typedef {import("./types.js").Frame} Frame
 * @typedef {{kind: "frame", frame: Frame} | {kind: "fold", frames: Frame[], images: string[]}} Part
 */

/** Fewer than this are not worth folding. */
const FOLD_FROM = 2;
const IMAGES_NAMED = 3;

/**
 * The newest frame and own frames are shown, system frames before and after them are folded.
 * @param {Frame[]} frames
 * @returns {Part[]}
 */
export function foldFrames(frames) {
    if (!frames.some((frame) => frame.in_app)) return frames.map((frame) => ({ kind: "frame", frame }));
    /** @type {Part[]} */
    const parts = [];
    /** @type {Frame[]} */
    let run = [];
    const end = () => {
        if (run.length >= FOLD_FROM) {
            parts.push({ kind: "fold", frames: run, images: [...new Set(run.map((one) => one.image ?? "unknown"))] });
        } else {
            for (const frame of run) parts.push({ kind: "frame", frame });
        }
        run = [];
    };
    for (const frame of frames) {
        if (!frame.in_app) {
            run.push(frame);
            continue;
        }
        end();
        parts.push({ kind: "frame", frame });
    }
    end();
    return parts;
}

/** "7 frames of UIKitCore, CoreFoundation". @param {{frames: Frame[], images: string[]}} fold */
export function foldText({ frames, images }) {
    const more = images.length - IMAGES_NAMED;
    const names = images.slice(0, IMAGES_NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
    return `${frames.length} frames of ${names}`;
}

/** Why a frame has no name, and what helps. @param {Frame} frame */
export function whyNoName(frame) {
    /** @type {Record<string, string>} */
    const why = {
        missing_symbol_file: "its dSYM was not uploaded",
        no_symbol: "no symbol at this address",
        unknown_image: "in no image of the report",
        malformed_symbol_file: "its symbol file cannot be read",
    };
    return why[frame.status ?? ""] ?? "";
}

/** "CartView.swift:118:9"; "" without a file. @param {import("./types.js").Sym} symbol */
export function placeOf({ file, line, column }) {
    if (!file) return "";
    const name = file.slice(file.lastIndexOf("/") + 1);
    return line ? `${name}:${line}${column ? `:${column}` : ""}` : name;
}

/** All frames as text, as for a chat. @param {Frame[]} frames */
export function framesText(frames) {
    return frames.flatMap((frame) => {
        const where = frame.image ? `${frame.image} + ${frame.image_offset ?? ""}` : "";
        if (!frame.symbols.length) return [`${String(frame.index).padStart(3)}  ${frame.address}  ${where}`];
        return frame.symbols.map((symbol, i) => `${i ? "   " : String(frame.index).padStart(3)}  ${symbol.function ?? frame.address}` +
            `${symbol.inlined ? " [inlined]" : ""}  ${placeOf(symbol) || where}`);
    }).join("\n");
}
