/** All versions, the highest first, two of them compared, and charts of how adoption and crash-free rates went. */
import { html, useState } from "../../lib/preact.js";
import { versionText, compact, number } from "../../lib/format.js";
import { quote } from "../../lib/query.js";
import { pathTo, queryText, setQuery } from "../../lib/router.js";
import { date } from "../../lib/time.js";
import { rateText, versionKey, FEW, interval, versionWords, compareRates, signed } from "../../lib/versions.js";
import { Badge } from "../../ui/badge.js";
import { Chart } from "../../ui/chart.js";
import { Age } from "../../ui/text.js";

/**
 * @typedef {import("../../lib/versions.js").Version} Version
 * @typedef {import("../../lib/versions.js").Use} Use
 */

const SHOWN = 4;
const FIRST = 20; // rows, before one asks for all

/** @param {{versions: Version[], parts: import("../../lib/versions.js").Part[]}} props parts: of the time range, the oldest first */
export function VersionCharts({ versions, parts }) {
    const most = [...versions].sort((a, b) => (b.sessions ?? 0) - (a.sessions ?? 0)).slice(0, SHOWN);
    // In the order of versions, so that the newest is the strongest line.
    const shown = versions.filter((one) => one.sessions && most.includes(one));
    /** @typedef {(one: Use & {adoption?: Record<string, number>}) => number | undefined} Value */
    const over = (/** @type {Value} */ value, /** @type {Version} */ of) => parts.map((part) => {
        const found = part.versions.find((one) => versionKey(one) === versionKey(of));
        return found && value(found);
    });
    const line = (/** @type {Value} */ value) => (/** @type {Version} */ one) => ({ name: versionText(one.version, one.build), values: over(value, one) });
    const all = (/** @type {keyof Use} */ key) => ({ name: "All versions", values: parts.map((part) => part.all[key]) });
    const rate = (/** @type {number | undefined} */ value) => rateText(value);
    const share = (/** @type {number | undefined} */ value) => rateText(value, 1);
    const labels = parts.map((part) => date(part.since));
    return html`<section class="charts" aria-label="Charts">
        <${Chart} title="Adoption" note="share of sessions" labels=${labels} from=${0} to=${1} text=${share} lines=${shown.map(line((one) => one.adoption?.sessions))} />
        <${Chart} title="Crash-free sessions" labels=${labels} to=${1} text=${rate} lines=${[...shown.map(line((one) => one.crash_free_sessions)), all("crash_free_sessions")]} />
        <${Chart} title="Crash-free users" labels=${labels} to=${1} text=${rate} lines=${[...shown.map(line((one) => one.crash_free_users)), all("crash_free_users")]} />
    </section>`;
}

/** @param {{value?: number}} props */
function Share({ value }) {
    if (value === undefined) return html`<span class="muted">–</span>`;
    return html`<span class="share"><span class="share-bar" aria-hidden="true"><i style=${{ width: `${100 * value}%` }}></i></span>${rateText(value, 1)}</span>`;
}

/** A rate, and whether it rests on enough. @param {{rate?: number, n?: number, of: string}} props */
function Rate({ rate, n = 0, of }) {
    if (rate === undefined || !n) return html`<span class="muted">–</span>`;
    const [low, high] = interval(rate, n);
    const sure = `${number(n)} ${of}: between ${rateText(low, 1)} and ${rateText(high, 1)}, with 95 % certainty`;
    return html`<span title=${sure}>${rateText(rate)}</span>${n < FEW && html` <${Badge} kind="amber" title=${sure}>uncertain<//>`}`;
}

/** @param {{project: string, version: Version, since: string}} props */
function Row({ project, version, since }) {
    const words = versionWords(version);
    const all = (/** @type {string} */ query) => pathTo(project, "issues") + queryText({ query });
    const issues = (/** @type {string} */ query, /** @type {string} */ sort) => pathTo(project, "issues") + queryText({ query, since, sort });
    const link = (/** @type {number} */ n, /** @type {string} */ href, /** @type {string} */ title) => (n ? html`<a href=${href} title=${title}>${number(n)}</a>` : html`<span class="muted">0</span>`);
    const seen = (/** @type {string | undefined} */ at) => at && html`<${Age} at=${at} isColumn />`;
    const name = versionText(version.version, version.build) || "(none)";
    return html`<tr>
        <th scope="row"><a class="cut" href=${issues(words, "users")} title=${name}>${name}</a>
            ${version.invented && html`<${Badge} kind="amber" title="Far above all others, and hardly anybody has it">invented<//>`}
            ${version.ordered === false && html`<${Badge} title="It has no numbers, so its place among the others is not known">no order<//>`}</th>
        <td><${Share} value=${version.adoption?.sessions_24h} /></td>
        <td class="number">${compact(version.sessions ?? 0)}</td>
        <td class="number"><${Rate} rate=${version.crash_free_sessions} n=${version.sessions} of="sessions" /></td>
        <td class="number"><${Rate} rate=${version.crash_free_users} n=${version.session_users} of="users" /></td>
        <td class="number">${link(version.new_issues, all(`introduced:${quote(name)}`), "Issues that no lower version has")}</td>
        <td class="number">${link(version.regressed_issues, issues(`is:regressed ${words}`, "users"), "Issues of this version that came back")}</td>
        <td class="number">${link(version.fixed_issues, all(`fixed:${quote(version.version ?? "")}`), "Issues resolved in it")}</td>
        <td class="number">${link(version.reports, issues(words, "reports"), "Issues by their reports of this version")}</td>
        <td class="number">${compact(version.users)}</td>
        <td class="muted">${seen(version.first_seen)}</td>
        <td class="muted">${seen(version.last_seen)}</td>
    </tr>`;
}

const COLUMNS = ["Adoption, 24 h", "Sessions", "Crash-free sessions", "Crash-free users", "New", "Regressed", "Fixed", "Reports", "Users", "First seen", "Last seen"];

/** @param {{project: string, versions: Version[], since: string}} props */
export function VersionTable({ project, versions, since }) {
    const [isAll, setAll] = useState(false);
    const shown = isAll ? versions : versions.slice(0, FIRST);
    return html`<section><div class="wide-table" tabindex="0" role="region" aria-label="All versions"><table>
        <caption class="unseen">All versions, the highest first</caption>
        <thead><tr><th scope="col">Version</th>${COLUMNS.map((name, i) => html`<th key=${name} scope="col" class=${i > 0 && i < 9 ? "number" : ""}>${name}</th>`)}</tr></thead>
        <tbody>${shown.map((version) => html`<${Row} key=${versionKey(version)} project=${project} version=${version} since=${since} />`)}</tbody>
    </table></div>
        ${shown.length < versions.length && html`<p><button type="button" class="linklike" aria-expanded="false" onClick=${() => setAll(true)}>Show all ${versions.length} versions</button></p>`}
    </section>`;
}

/** @type {Record<string, {text: string, kind: "green" | "red" | "grey" | "amber"}>} */
const VERDICTS = {
    better: { text: "better", kind: "green" }, worse: { text: "worse", kind: "red" },
    same: { text: "no difference", kind: "grey" }, unsure: { text: "may be chance", kind: "amber" },
};

/** "4.2+420..4.3+430": names may have dots themselves. @param {string | undefined} text @param {Version[]} versions */
function readPair(text, versions) {
    for (let at = text?.indexOf("..") ?? -1; text && at >= 0; at = text.indexOf("..", at + 1)) {
        const from = versions.find((one) => versionKey(one) === text.slice(0, at));
        const to = versions.find((one) => versionKey(one) === text.slice(at + 2));
        if (from && to) return { from, to };
    }
    return null;
}

/** The newest version with the one before it. @param {Version[]} versions */
function usualPair(versions) {
    const to = versions.find((one) => one.previous) ?? versions[0];
    const from = to.previous && versions.find((one) => versionKey(one) === versionKey(/** @type {any} */ (to.previous)));
    return { from: from ?? versions.find((one) => one !== to) ?? to, to };
}

/** @param {{name: string, a: any, b: any, rate?: string, of?: string, digits?: number}} props b: the newer one */
function RateRow({ name, a, b, rate = "", of = "" }) {
    const verdict = VERDICTS[compareRates(b[rate], b[of] ?? 0, a[rate], a[of] ?? 0)];
    const isKnown = a[rate] !== undefined && b[rate] !== undefined;
    return html`<tr><th scope="row">${name}</th><td class="number">${rateText(a[rate])}</td><td class="number">${rateText(b[rate])}</td>
        <td class="number">${isKnown ? `${signed(100 * (b[rate] - a[rate]), 2)} points` : "–"}</td>
        <td>${isKnown && html`<${Badge} kind=${verdict.kind}>${verdict.text}<//>`}</td></tr>`;
}

/** @param {{name: string, a: number, b: number}} props */
function CountRow({ name, a, b }) {
    return html`<tr><th scope="row">${name}</th><td class="number">${number(a)}</td><td class="number">${number(b)}</td>
        <td class="number">${signed(b - a)}</td><td class="muted">${b === a ? "no difference" : b > a ? "more" : "fewer"}</td></tr>`;
}

/** @param {{text: string, versions: Version[], value: Version, set: (key: string) => void}} props */
function Choice({ text, versions, value, set }) {
    return html`<label><span class="muted">${text}</span><select value=${versionKey(value)} onChange=${(/** @type {any} */ event) => set(event.target.value)}>
        ${versions.map((one) => html`<option key=${versionKey(one)} value=${versionKey(one)} selected=${one === value}>${versionText(one.version, one.build) || "(none)"}</option>`)}
    </select></label>`;
}

/** @param {{versions: Version[], asked?: string}} props asked: "4.2+420..4.3+430", from the address */
export function Comparison({ versions, asked }) {
    const found = readPair(asked, versions);
    const { from, to } = found ?? usualPair(versions);
    const set = (/** @type {string} */ a, /** @type {string} */ b) => setQuery({ compare: `${a}..${b}` }, { replace: true });
    const rows = [["New issues", "new_issues"], ["Regressed issues", "regressed_issues"], ["Fixed issues", "fixed_issues"], ["Reports", "reports"], ["Users with reports", "users"], ["Sessions", "sessions"]];
    const few = [from, to].filter((one) => one.sessions && one.sessions < FEW);
    const names = [from, to].map((one) => versionText(one.version, one.build) || "(none)");
    return html`<section class="panel" aria-label="Compare two versions">
        <div class="compare-head">
            <h2>Compare</h2>
            <${Choice} text="version" versions=${versions} value=${to} set=${(/** @type {string} */ key) => set(versionKey(from), key)} />
            <${Choice} text="with" versions=${versions} value=${from} set=${(/** @type {string} */ key) => set(key, versionKey(to))} />
        </div>
        ${asked && !found && html`<p class="form-error" role="alert">The address names a version that is not here; the newest one is compared with the one before it.</p>`}
        <div class="wide-table" tabindex="0" role="region" aria-label="The comparison"><table>
            <caption class="unseen">${names[1]} compared with ${names[0]}</caption>
            <thead><tr><td></td><th scope="col" class="number">${names[0]}</th><th scope="col" class="number">${names[1]}</th><th scope="col" class="number">Difference</th><th scope="col">In words</th></tr></thead>
            <tbody>
                <${RateRow} name="Crash-free sessions" a=${from} b=${to} rate="crash_free_sessions" of="sessions" />
                <${RateRow} name="Crash-free users" a=${from} b=${to} rate="crash_free_users" of="session_users" />
                ${rows.map(([name, key]) => html`<${CountRow} key=${key} name=${name} a=${/** @type {any} */ (from)[key] ?? 0} b=${/** @type {any} */ (to)[key] ?? 0} />`)}
            </tbody>
        </table></div>
        ${few.length > 0 && html`<p class="muted small">${few.map((one) => versionText(one.version, one.build)).join(" and ")} ${few.length === 1 ? "has" : "have"} fewer than ${FEW} sessions in this time: the rates are uncertain.</p>`}
    </section>`;
}
