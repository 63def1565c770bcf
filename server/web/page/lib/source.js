/**
 * Links to source code, by a template that the project has for everybody, or this browser for itself:
 *
 *     https://github.com/acme/shop/blob/v{version}/{path}#L{line}      a link
 *     xed --line {line} {path}                                          a command, which is copied
 *
 * {path} is the file of the report with another beginning, if `paths` has one for it.
 */
import { get } from "./api.js";
import { useLoad } from "./load.js";
import { prefOf } from "./session.js";
import { readPref, writePref } from "./store.js";

/**
 * @typedef {{prefix: string, template: string}} OwnSource
 * @typedef {{template: string, paths: {from: string, to: string}[]}} SourceSetting
 */

/** What this browser has for itself. @param {string} project @returns {OwnSource} */
export const ownSource = (project) => readPref(prefOf("source", project), { prefix: "", template: "" });
/** @param {string} project @param {OwnSource} setting */
export const saveOwnSource = (project, setting) => writePref(prefOf("source", project), setting);

/** @param {string} project @returns {SourceSetting} */
export function useSource(project) {
    const { data } = useLoad(`project/${project}`, (signal) => get("/project", {}, signal));
    const own = ownSource(project);
    return {
        template: own.template || data?.source_template || "",
        paths: [...(own.prefix ? [{ from: own.prefix, to: "" }] : []), ...(data?.source_paths ?? [])],
    };
}

const WEB = /^https?:\/\//;

/** Why a template cannot be used; "" if it can. The server has the same rules. @param {string} template */
export function templateProblem(template) {
    if (!template) return "";
    if (!template.includes("{path}")) return "write {path} where the file goes";
    const rest = template.replace(/\{(path|line|version)\}/g, "");
    if (/[{}]/.test(rest)) return "between braces there is {path}, {line} or {version}";
    if (WEB.test(template)) return /^https?:\/\/[\w.:[\]-]+\/[^\s"'<>\\^`|]*$/.test(template) ? "" : "write out the host, with a / after it, and no blanks or quotes";
    if (!/^(xed|code|idea|open) /.test(template)) return "begin with https:// or with one of the commands xed, code, idea, open";
    return /^[\w ./:=+,@%-]*$/.test(rest) ? "" : "a command has letters, digits, blanks and _ . / : = + , @ % - only";
}

/**
 * What belongs to a place in the source; null without a template. File names come from reports: in a link each part is
 * encoded and none leads upwards, in a command the whole is quoted and no option.
 * @param {SourceSetting} setting
 * @param {{file?: string, line?: number}} symbol
 * @param {string} [version]
 * @returns {{href?: string, command?: string} | null}
 */
export function sourceOf({ template, paths }, { file, line }, version = "") {
    if (!template || !file || templateProblem(template)) return null;
    const found = paths.find(({ from }) => file.startsWith(from));
    const path = found ? found.to + file.slice(found.from.length) : file;
    const isLink = WEB.test(template);
    const part = isLink ? encodeURIComponent : (/** @type {string} */ text) => `'${text.replace(/'/g, "'\\''").replace(/^-/, "./-")}'`;
    const whole = isLink ? path.split("/").filter((one) => !/^\.{0,2}$/.test(one)).map(part).join("/") : part(path);
    /** @type {Record<string, string>} */
    const values = { path: whole, line: String(Number(line) || 1), version: part(version) };
    const text = template.replace(/\{(path|line|version)\}/g, (_, name) => values[name]);
    return isLink ? { href: text } : { command: text };
}
