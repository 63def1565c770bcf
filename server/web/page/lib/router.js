/**
 * Which screen the address names. Everything that a person would share is in the URL:
 *
 *     /p/shop/issues/12?query=version%3A4.2&since=14d&report=8c1f…
 */
import { createStore, useStore } from "./store.js";

/**
 * @typedef {{path: string, screen: string, project: string, item: string, part: string, query: Record<string, string>,
 *   hash: string}} Route
 */

/** @param {string} text */
function decode(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}

/** @param {{pathname: string, search: string, hash: string}} at @returns {Route} */
export function parseRoute(at) {
    const [, first = "", ...rest] = at.pathname.split("/").map(decode);
    const query = Object.fromEntries(new URLSearchParams(at.search));
    const common = { path: at.pathname, query, hash: at.hash.slice(1) };
    if (first !== "p") return { ...common, screen: first || "home", project: "", item: "", part: "" };
    const [project = "", screen = "", item = "", part = ""] = rest;
    return { ...common, screen: screen || "issues", project, item, part };
}

export const route = createStore(parseRoute(location));
export const useRoute = () => useStore(route);

/** @param {...(string | number)} parts after /p; the query comes from queryText() */
export const pathTo = (...parts) => ["/p", ...parts].map((part, i) => (i ? encodeURIComponent(part) : part)).join("/");

/** "?a=1&b=2"; what is undefined is left out. @param {Record<string, any>} query */
export function queryText(query) {
    const kept = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const text = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
    return text && `?${text}`;
}

/* ---- where a screen was scrolled to, for going back ---- */

let entry = history.state?.entry ?? 0;
/** @type {Map<number, number>} */
const positions = new Map();
history.scrollRestoration = "manual";

const keepPosition = () => positions.set(entry, scrollY);

/** How far the screen of this history entry was scrolled; 0 if it is new. */
export const positionNow = () => positions.get(entry) ?? 0;

/**
 * @param {string} url
 * @param {{replace?: boolean}} [how] replace: the present entry of the history, as for a filter that is being typed
 */
export function go(url, { replace = false } = {}) {
    const target = new URL(url, location.href);
    if (target.href === location.href) return;
    keepPosition();
    if (replace) {
        history.replaceState({ entry }, "", target);
    } else {
        entry = Date.now();
        history.pushState({ entry }, "", target);
    }
    route.set(parseRoute(location));
}

/** Change parameters of the present address; undefined removes one. @param {Record<string, any>} change @param {{replace?: boolean}} [how] */
export function setQuery(change, how) {
    go(location.pathname + queryText({ ...route.get().query, ...change }), how);
}

/** Links of the page change the address without loading it again. */
export function startRouter() {
    addEventListener("popstate", () => {
        keepPosition();
        entry = history.state?.entry ?? 0;
        route.set(parseRoute(location));
    });
    document.addEventListener("click", (event) => {
        const link = event.target instanceof Element && event.target.closest("a");
        const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
        if (!link || !isPlain || event.defaultPrevented || link.target || link.hasAttribute("download")) return;
        if (link.origin !== location.origin || /^\/(api|assets)\//.test(link.pathname) || link.getAttribute("href")?.startsWith("#")) return;
        event.preventDefault();
        go(link.href);
    });
}
