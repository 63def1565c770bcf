/**
 * Values that components show and that change, and what this browser remembers: the theme, and filters and source links of each
 * project. Nothing of reports, no token.
 */
import { useLayoutEffect, useState } from "./preact.js";

/**
 * @template T
 * @param {T} initial
 */
export function createStore(initial) {
    let value = initial;
    /** @type {Set<(value: T) => void>} */
    const listeners = new Set();
    return {
        get: () => value,
        /** @param {T} next */
        set(next) {
            if (Object.is(next, value)) return;
            value = next;
            for (const listener of [...listeners]) listener(value);
        },
        /** @param {(value: T) => void} listener */
        listen(listener) {
            listeners.add(listener);
            return () => {
                listeners.delete(listener);
            };
        },
    };
}

/**
 * The store's value; the component is drawn again when it changes.
 * @template T
 * @param {{get: () => T, listen: (listener: (value: T) => void) => () => void}} store
 * @returns {T}
 */
export function useStore(store) {
    const [value, set] = useState(store.get);
    // At once: what changes before the first frame is not to wait for it.
    useLayoutEffect(() => {
        set(() => store.get());
        return store.listen((next) => set(() => next));
    }, [store]);
    return value;
}

const THEME_KEY = "framezero.theme";

/** @param {string} key @param {any} otherwise */
export function readPref(key, otherwise) {
    try {
        return JSON.parse(localStorage.getItem(`framezero.${key}`) ?? "null") ?? otherwise;
    } catch {
        return otherwise;
    }
}

/** @param {string} key @param {any} value */
export function writePref(key, value) {
    localStorage.setItem(`framezero.${key}`, JSON.stringify(value));
}

/** Keep what is kept under one key under another. @param {string} from @param {string} to */
export function movePref(from, to) {
    const text = localStorage.getItem(`framezero.${from}`);
    if (text === null) return;
    if (localStorage.getItem(`framezero.${to}`) === null) localStorage.setItem(`framezero.${to}`, text);
    localStorage.removeItem(`framezero.${from}`);
}

/** "system", "light" or "dark". */
export const theme = createStore(localStorage.getItem(THEME_KEY) ?? "system");

/** @param {string} name */
function applyTheme(name) {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
}
theme.listen((name) => {
    localStorage.setItem(THEME_KEY, name);
    applyTheme(name);
});
applyTheme(theme.get());
