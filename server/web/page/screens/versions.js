/** The versions of the app: who has them, how often they crash, and how one differs from another. */
import { html, useEffect, useRef } from "../lib/preact.js";
import { download, get } from "../lib/api.js";
import { compact, versionText } from "../lib/format.js";
import { useLive } from "../lib/live.js";
import { prefetch, useLoad } from "../lib/load.js";
import { pathTo, setQuery } from "../lib/router.js";
import { FEW, rateText } from "../lib/versions.js";
import { Menu } from "../ui/menu.js";
import { Empty, Failure, Skeleton } from "../ui/state.js";
import { toastError } from "../ui/toast.js";
import { VersionCharts, VersionTable, Comparison } from "./versions/table.js";

/** @typedef {import("../lib/versions.js").Version} Version */

const RANGES = [7, 14, 30, 90];
const USUAL_DAYS = 14;
const DAY_MS = 86400e3;
/** The points of a chart, at most. */
const PARTS = 14;

/** @param {{versions: Version[], all: any}} props */
function Tiles({ versions, all }) {
    const newest = versions[0];
    const tile = (/** @type {string} */ name, /** @type {string} */ value, /** @type {string} */ note) => html`
        <div class="tile"><dt>${name}</dt><dd>${value}</dd><dd class="tile-note">${note}</dd></div>`;
    const few = (/** @type {number} */ n) => (n > 0 && n < FEW ? ", few: uncertain" : "");
    const day = newest.adoption?.sessions_24h ?? newest.adoption?.sessions;
    return html`<dl class="tiles">
        ${tile("Crash-free sessions", rateText(all.crash_free_sessions), `of ${compact(all.sessions ?? 0)}${few(all.sessions)}`)}
        ${tile("Crash-free users", rateText(all.crash_free_users), `of ${compact(all.session_users ?? 0)}${few(all.session_users)}`)}
        ${tile(`Have ${versionText(newest.version, newest.build)}`, rateText(day, 1), "of the sessions of the last 24 hours")}
        ${tile("Sessions in 24 hours", compact(all.sessions_24h ?? 0), `of ${compact(all.users_24h ?? 0)} users`)}
    </dl>`;
}

/** @param {{project: string}} props */
function NoSessions({ project }) {
    return html`<div class="panel"><h2>Crash-free rates and adoption need sessions</h2>
        <p class="muted">Reports came, but no session did. Sentry’s SDKs send them with <code>enableAutoSessionTracking</code>, which is on by
            default, and KSCrash sends its run summaries. <a href=${pathTo(project, "start")}>How to connect an app</a></p></div>`;
}

/** What the address asks for. @param {import("../lib/router.js").Route} route */
function asked({ project, query }) {
    const days = RANGES.find((one) => `${one}d` === query.since) ?? USUAL_DAYS;
    // To the day, so that what was loaded is found again.
    const since = new Date((Math.floor(Date.now() / DAY_MS) - days + 1) * DAY_MS).toISOString();
    const load = (/** @type {AbortSignal | undefined} */ signal = undefined) => get("/versions", { since, limit: 500, parts: PARTS }, signal);
    return { days, since, key: `versions/${project}/${since}`, load };
}

/** @param {import("../lib/router.js").Route} route */
export function early(route) {
    const { key, load } = asked(route);
    return prefetch(key, load);
}

/** @param {{project: string, route: import("../lib/router.js").Route}} props */
export function Screen({ project, route }) {
    const { days, since, key, load } = asked(route);
    const { data: now, error, isLoading, reload } = useLoad(key, load);
    useLive({ reload, isLoading }, () => true, /issue/);
    const last = useRef(now);
    if (now) last.current = now;
    const data = now ?? last.current;
    useEffect(() => {
        document.title = `Versions – ${project} – framezero`;
    }, [project]);
    if (error && !data) return html`<h1>Versions</h1><${Failure} error=${error} retry=${reload} />`;
    if (!data) return html`<h1 class="unseen">Versions</h1><${Skeleton} rows=${8} />`;
    const versions = /** @type {Version[]} */ (data.versions);
    if (!versions.length) {
        return html`<${Empty} title="No version yet" top>
            <p>A version is known as soon as a report or a session of it arrives.</p>
            <p><a class="button primary" href=${pathTo(project, "start")}>First steps</a></p><//>`;
    }
    const hasSessions = versions.some((one) => one.sessions);
    const ranges = RANGES.map((one) => ({
        text: `Last ${one} days`, chosen: one === days, run: () => setQuery({ since: one === USUAL_DAYS ? undefined : `${one}d` }),
    }));
    return html`<div class="versions">
        <div class="screen-head">
            <h1>Versions</h1>
            <div class="buttons">
                <${Menu} label=${`Last ${days} days`} name=${`Time range: last ${days} days`} icon="clock" items=${ranges} side="right" />
                <button type="button" class="button" onClick=${() => download("/export/versions", { since }).catch(toastError)}>CSV</button>
            </div>
        </div>
        ${hasSessions ? html`<${Tiles} versions=${versions} all=${data.all} />` : html`<${NoSessions} project=${project} />`}
        ${versions.length > 1 && html`<${Comparison} versions=${versions} asked=${route.query.compare} />`}
        ${hasSessions && html`<${VersionCharts} versions=${versions} parts=${data.parts} />`}
        <${VersionTable} project=${project} versions=${versions} since=${days === USUAL_DAYS ? "14d" : `${days}d`} />
        ${data.known > versions.length && html`<p class="muted small">The ${versions.length} highest of ${data.known} versions.</p>`}
    </div>`;
}
