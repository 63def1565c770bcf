/** Where one is: the address as a value that components follow, and the ways to change it. */
import { parseRoute, queryText } from "./address.js";
import { createStore, useStore } from "./store.js";

export { parseRoute, pathTo, queryText } from "./address.js";
/** @typedef {import("./address.js").Route} Route */

export const route = createStore(parseRoute(location));
export const useRoute = () => useStore(route);

/* ---- where a screen was scrolled to, for going back ---- */

let entry = history.state?.entry ?? 0;
/** @type {Map<number, number>} */
const positions = new Map();
history.scrollRestoration = "manual";

const keepPosition = () => positions.set(entry, scrollY);

/** Show the part of the screen that this history entry showed, the top of a new one. To ask for it where nothing was shown before costs a layout. */
export function restorePosition() {
    if (positions.size) scrollTo(0, positions.get(entry) ?? 0);
}

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
