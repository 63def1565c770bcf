/**
 * Numbers and short texts. Not by Intl: a browser reads the data of a language for the first of its formats, and that alone took
 * 50 ms of the first visit. Times (time.js) and numbers are those of en-GB; tests/page compares them.
 */

/** "12,480". @param {number} n an integer */
export const number = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

/** "9,999", "12.5K": for columns. @param {number} n an integer */
export function compact(n) {
    if (Math.abs(n) < 10000) return number(n);
    let [part, unit] = [n / 1000, 0];
    // What would be rounded to 1,000 of one unit is 1 of the next.
    for (; Math.abs(part) >= 999.95 && unit < 3; unit++) part /= 1000;
    return part.toFixed(1).replace(/\.0$/, "") + "KMBT"[unit];
}

/** "1 report", "2 reports". @param {number} n @param {string} one @param {string} [many] */
export const count = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

/** "12 %", "0.3 %", "< 0.1 %". @param {number} part @param {number} all */
export function percent(part, all) {
    if (!all) return "–";
    const value = (100 * part) / all;
    if (value > 0 && value < 0.1) return "< 0.1 %";
    if (value < 10 && value % 1 > 0.05) return `${value.toFixed(1)} %`;
    return `${Math.round(value)} %`;
}

/** "4.2 (4201)". @param {string | undefined} version @param {string | undefined} [build] */
export const versionText = (version, build) => (version ? version + (build && build !== version ? ` (${build})` : "") : build ? `(${build})` : "");

/** The last part of a path. @param {string} path */
export const fileName = (path) => path.slice(path.lastIndexOf("/") + 1);

/** "12.5 MB". @param {number} n bytes */
export function bytes(n) {
    const units = ["bytes", "kB", "MB", "GB", "TB"];
    let at = 0;
    for (; n >= 999.95 && at < units.length - 1; at++) n /= 1000;
    return `${at && n < 100 ? n.toFixed(1) : Math.round(n)} ${n === 1 && !at ? "byte" : units[at]}`;
}
