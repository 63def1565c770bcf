/** What a report says about its threads and frames, in words, and the search through all of them. */
import { fileName } from "./format.js";

/**
 * @typedef {import("./types.js").Frame} Frame
 * @typedef {import("./types.js").Report} Report
 * @typedef {import("./types.js").Thread} Thread
 * @typedef {{key: string, title: string, frames: Frame[], thread?: Thread, isCrashed: boolean}} Part
 * @typedef {{part: number, frame: number}} Match
 */

/** @type {Record<string, string>} */
const TRUST = {
    given: "by the app, in the report",
    context: "from the registers of the thread",
    cfi: "by unwind data of the image (DWARF)",
    compact: "by unwind data of the image (compact)",
    frame_pointer: "by a frame pointer on the stack",
    link_register: "from the link register",
};
/** @type {Record<string, string>} */
const SOURCES = {
    dwarf: "debug information of the dSYM",
    symtab: "symbol table of the image",
    exports: "exported symbols of the image",
    function_starts: "list of functions of the image",
    client: "the report itself",
    learned: "other reports of the same image",
};

/** How a frame was found. @param {string | undefined} trust */
export const trustText = (trust) => TRUST[trust ?? ""] ?? trust ?? "";
/** Where its name comes from. @param {string | undefined} source */
export const sourceText = (source) => SOURCES[source ?? ""] ?? source ?? "";

/** @type {Record<string, string>} */
export const STATUS = {
    queued: "is being read",
    symbolicated: "all names found",
    partial: "some names missing",
    unsymbolicated: "no names",
    failed: "could not be read",
};

/** @param {string} kind */
export const kindText = (kind) => kind.replaceAll("_", " ");

/** All stacks of a report: first what describes the crash, then the other threads in their order. @param {Report} report @returns {Part[]} */
export function partsOf(report) {
    const threads = report.threads ?? [];
    const crashed = threads.findIndex((one, i) => one.crashed || (report.crash?.thread ?? -1) === (one.index ?? i));
    const parts = threads.map((thread, i) => ({
        key: `t${i}`,
        title: [`Thread ${thread.index ?? i}`, thread.name].filter(Boolean).join(" · "),
        frames: thread.frames ?? [], thread, isCrashed: i === crashed,
    }));
    const first = crashed >= 0 ? parts.splice(crashed, 1) : [];
    const thrown = report.exception_backtrace?.frames ?? [];
    const exception = thrown.length ? [{ key: "exception", title: "Where the exception was thrown", frames: thrown, isCrashed: false }] : [];
    return [...exception, ...first, ...parts];
}

/** A stack in one line: the function of its first own frame. @param {Frame[]} frames */
export function summary(frames) {
    const named = frames.filter((one) => one.symbols?.length);
    const top = named.find((one) => one.in_app) ?? named[0];
    if (top) return top.symbols[0].function ?? "";
    const [frame] = frames;
    return frame ? `${frame.image ?? "unknown image"}${frame.image_offset ? ` + ${frame.image_offset}` : ""}` : "";
}

/** @param {Frame} frame */
function frameText(frame) {
    const texts = [frame.address, frame.image];
    for (const one of frame.symbols ?? []) texts.push(one.function, one.mangled, one.file && fileName(one.file));
    return texts.filter(Boolean).join("\n").toLowerCase();
}

/** The frames that contain a text: function, file, image or address. @param {Part[]} parts @param {string} text @returns {Match[]} */
export function findFrames(parts, text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    /** @type {Match[]} */
    const found = [];
    parts.forEach(({ frames }, part) => frames.forEach((one, frame) => {
        if (frameText(one).includes(wanted)) found.push({ part, frame });
    }));
    return found;
}

/** @param {string | number | undefined} text */
function toBig(text) {
    try {
        return text === undefined || text === "" ? null : BigInt(text);
    } catch {
        return null;
    }
}

/** What an address of a report lies in: "Shop + 0x41", "its stack", "captured memory"; "" if in nothing known. @param {Report} report @param {Thread | undefined} thread @param {string} text */
export function addressPlace(report, thread, text) {
    const at = toBig(text);
    if (at === null) return "";
    const has = (/** @type {any} */ block) => {
        const from = toBig(block?.address);
        return from !== null && at >= from && at < from + (toBig(block.size) ?? 0n) ? `0x${(at - from).toString(16)}` : "";
    };
    for (const image of report.images ?? []) {
        const offset = has(image);
        if (offset) return `${image.name ?? "image"} + ${offset}`;
    }
    if (has(thread?.stack)) return "its stack";
    return (report.memory ?? []).some(has) ? "captured memory" : "";
}
