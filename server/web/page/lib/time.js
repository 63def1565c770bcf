/** Times as people read them. The server sends UTC; the page shows the browser's own zone, in the words of format.js. */

const MINUTE = 60e3, HOUR = 3600e3, DAY = 86400e3;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sept", "Oct", "Nov", "Dec"];

/** @param {Date} time */
const dayText = (time) => `${time.getDate()} ${MONTHS[time.getMonth()]}`;
const two = (/** @type {number} */ n) => String(n).padStart(2, "0");

/** For columns: "5 min", "3 h", "6 d"; from four weeks on a date. @param {string} at @param {number} [now] */
export function ago(at, now = Date.now()) {
    const time = Date.parse(at);
    if (Number.isNaN(time)) return "";
    const age = Math.max(0, now - time);
    if (age < MINUTE) return "now";
    if (age < HOUR) return `${Math.floor(age / MINUTE)} min`;
    if (age < DAY) return `${Math.floor(age / HOUR)} h`;
    if (age < 28 * DAY) return `${Math.floor(age / DAY)} d`;
    return date(at, now);
}

/** The same in a sentence: "5 min ago", "just now", "20 Nov". @param {string} at @param {number} [now] */
export function agoText(at, now = Date.now()) {
    const text = ago(at, now);
    return text === "now" ? "just now" : /\d (min|h|d)$/.test(text) ? `${text} ago` : text;
}

/** "20 Nov", with the year if it is another one. @param {string | number} at @param {number} [now] */
export function date(at, now = Date.now()) {
    const time = new Date(at);
    if (Number.isNaN(time.getTime())) return "";
    return time.getFullYear() === new Date(now).getFullYear() ? dayText(time) : `${dayText(time)} ${time.getFullYear()}`;
}

/** "20 Nov 2026, 10:11:12". @param {string | number} at */
export function fullTime(at) {
    const time = new Date(at);
    if (Number.isNaN(time.getTime())) return String(at);
    return `${dayText(time)} ${time.getFullYear()}, ${[time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(":")}`;
}
