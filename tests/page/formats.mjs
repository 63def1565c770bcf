/** formats.mjs MODULES: numbers and times of the page beside those of Intl for en-GB. Prints what differs. */
import process from "node:process";

const [, , modules] = process.argv;
const { number, compact } = await import(`${modules}/format.js`);
const { date, fullTime } = await import(`${modules}/time.js`);
const whole = new Intl.NumberFormat("en-GB");
const short = new Intl.NumberFormat("en-GB", { notation: "compact", maximumFractionDigits: 1 });
const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const year = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
let compared = 0;

function same(what, have, want) {
    compared++;
    if (have !== want) console.log(`${what}: ${have}, and by Intl ${want}`);
}

for (let power = 0; power < 15; power++) {
    for (const factor of [1, 1.04, 1.05, 1.23, 4.56, 9.9949, 9.9951, 9.9999]) {
        const n = Math.round(factor * 10 ** power);
        same(`number ${n}`, number(n), whole.format(n));
        same(`number ${-n}`, number(-n), whole.format(-n));
        // "bn" and "tn" of en-GB are one letter here, as the others are.
        if (n >= 10000) same(`compact ${n}`, compact(n), short.format(n).toUpperCase().replace(/N$/, ""));
    }
}
const NOW = Date.UTC(2026, 10, 24);
for (let month = 0; month < 240; month++) {
    const at = Date.UTC(2017, month, 1 + (month % 28), month % 24, (7 * month) % 60, (11 * month) % 60);
    same(`time ${at}`, fullTime(at), full.format(at));
    same(`date ${at}`, date(at, NOW), (new Date(at).getFullYear() === 2026 ? day : year).format(at));
}
console.log(`${compared} compared`);
