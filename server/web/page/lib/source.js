/**
 * Links to source code, by a template that this browser keeps for each project:
 *
 *     https://github.com/acme/shop/blob/v{version}/{path}#L{line}      a link
 *     xed --line {line} {path}                                          a command, which is copied
 *
 * {path} is the file of the report without `prefix`, the folder in which it was built.
 */
import { readPref, writePref } from "./store.js";

/** @typedef {{prefix: string, template: string}} SourceSetting */

/** @param {string} project @returns {SourceSetting} */
export const sourceSetting = (project) => readPref(`source.${project}`, { prefix: "", template: "" });
/** @param {string} project @param {SourceSetting} setting */
export const saveSourceSetting = (project, setting) => writePref(`source.${project}`, setting);

const WEB = /^https?:\/\//;

/** Why a template cannot be used; "" if it can. @param {string} template */
export function templateProblem(template) {
    if (!template) return "";
    if (!template.includes("{path}")) return "write {path} where the file goes";
    if (!WEB.test(template) && !/^(xed|code|idea|open) /.test(template)) return "begin with https:// or with one of the commands xed, code, idea, open";
    return "";
}

/**
 * What belongs to a place in the source; null without a template. File names come from reports: in a link each part is
 * encoded, in a command it is quoted.
 * @param {SourceSetting} setting
 * @param {{file?: string, line?: number}} symbol
 * @param {string} [version]
 * @returns {{href?: string, command?: string} | null}
 */
export function sourceOf({ prefix, template }, { file, line }, version = "") {
    if (!template || !file || templateProblem(template)) return null;
    const path = file.startsWith(prefix) ? file.slice(prefix.length) : file;
    const isLink = WEB.test(template);
    const part = isLink ? encodeURIComponent : (/** @type {string} */ text) => `'${text.replace(/'/g, "'\\''")}'`;
    const whole = isLink ? path.replace(/^\/+/, "").split("/").map(part).join("/") : part(path);
    /** @type {Record<string, string>} */
    const values = { path: whole, line: String(line ?? 1), version: isLink ? part(version) : part(version) };
    const text = template.replace(/\{(path|line|version)\}/g, (_, name) => values[name]);
    return isLink ? { href: text } : { command: text };
}
