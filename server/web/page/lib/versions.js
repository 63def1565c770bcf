/** Versions of the app: their names, how sure a rate is, and how two of them differ. */
import { quote } from "./query.js";

/**
 * @typedef {{sessions?: number, crash_free_sessions?: number, session_users?: number, crash_free_users?: number}} Use
 * @typedef {Use & {version?: string, build?: string, previous?: {version?: string, build?: string}, first_seen?: string, last_seen?: string,
 *   reports: number, users: number, adoption?: Record<string, number>, new_issues: number, regressed_issues: number, fixed_issues: number,
 *   ordered?: boolean, invented?: boolean}} Version
 * @typedef {{since: string, all: Use, versions: (Use & {version?: string, build?: string, adoption?: Record<string, number>})[]}} Part
 * @typedef {"better" | "worse" | "same" | "unsure"} Verdict
 */

/** Under so many sessions or users, a rate says little. */
export const FEW = 100;
const Z = 1.96;

/** "4.2+420": the name of a version in the address. @param {{version?: string, build?: string}} one */
export const versionKey = ({ version = "", build }) => (build === undefined ? version : `${version}+${build}`);

/** The words of a query that find its reports. @param {{version?: string, build?: string}} one */
export const versionWords = ({ version, build }) =>
    [version && `version:${quote(version)}`, build && `build:${quote(build)}`].filter(Boolean).join(" ");

/** "99.83 %"; all but all is never rounded up to 100. @param {number | undefined} rate @param {number} [digits] */
export function rateText(rate, digits = 2) {
    if (rate === undefined) return "–";
    const factor = 10 ** digits, most = 100 * factor;
    const value = rate < 1 ? Math.min(Math.round(rate * most), most - 1) / factor : 100;
    return `${value === 100 ? "100" : value.toFixed(digits)} %`;
}

/** Wilson's interval: where the true rate is, with 95 %. @param {number} rate @param {number} n @returns {[number, number]} */
export function interval(rate, n) {
    const middle = (rate + (Z * Z) / (2 * n)) / (1 + (Z * Z) / n);
    const half = (Z / (1 + (Z * Z) / n)) * Math.sqrt((rate * (1 - rate)) / n + (Z * Z) / (4 * n * n));
    return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

/**
 * Is rate `a` better than rate `b`, by more than chance (two proportions, 95 %)?
 * @param {number | undefined} a @param {number} aN @param {number | undefined} b @param {number} bN @returns {Verdict}
 */
export function compareRates(a, aN, b, bN) {
    if (a === undefined || b === undefined || !aN || !bN) return "unsure";
    if (a === b) return aN < FEW || bN < FEW ? "unsure" : "same";
    const both = (a * aN + b * bN) / (aN + bN);
    const error = Math.sqrt(both * (1 - both) * (1 / aN + 1 / bN));
    if (aN < FEW || bN < FEW || Math.abs(a - b) < Z * error) return "unsure";
    return a > b ? "better" : "worse";
}

/** "+1.2", "−3", "±0". @param {number} value @param {number} [digits] */
export function signed(value, digits = 0) {
    const text = Math.abs(value).toFixed(digits);
    return Number(text) === 0 ? "±0" : `${value > 0 ? "+" : "−"}${text}`;
}
