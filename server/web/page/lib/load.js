/** Data that is shown at once and then loaded again. */
import { useEffect, useLayoutEffect, useState } from "./preact.js";
import { ApiError } from "./api.js";

const KEPT = 60;
const FRESH_MS = 3000;
/** @type {Map<string, any>} */
const cache = new Map();
/** @type {Set<(prefix: string, isDrawn: boolean) => void>} */
const listeners = new Set();

/** @param {string} key @param {any} data */
function keep(key, data) {
    cache.delete(key);
    cache.set(key, data);
    for (const oldest of cache.keys()) {
        if (cache.size <= KEPT) break;
        cache.delete(oldest);
    }
}

/** What is shown under keys with this prefix has changed: load it again. @param {string} prefix */
export function changed(prefix) {
    for (const key of early.keys()) if (key.startsWith(prefix)) early.delete(key);
    for (const listener of [...listeners]) listener(prefix, false);
}

/** Nothing of one user or project is shown to the next. */
export function forgetAll() {
    cache.clear();
    early.clear();
}

/** What was loaded under this key. @param {string} key */
export const peek = (key) => cache.get(key);

/** Put what an action answered into the place of what was loaded. @param {string} key @param {(was: any) => any} change */
export function change(key, change) {
    if (!cache.has(key)) return;
    keep(key, change(cache.get(key)));
    for (const listener of [...listeners]) listener(key, true);
}

/** @type {Map<string, {answer: Promise<any>, isKept: boolean}>} what the first who shows it need not load again */
const early = new Map();

/**
 * Load before it is needed, as when the pointer is over a link.
 * @param {string} key @param {() => Promise<any>} load @returns {Promise<void>} until there is an answer
 */
export async function prefetch(key, load) {
    if (cache.has(key) || early.has(key)) return;
    const mine = { answer: load(), isKept: false };
    early.set(key, mine);
    const forget = () => early.get(key) === mine && early.delete(key);
    try {
        const data = await mine.answer;
        if (early.get(key) !== mine) return;
        keep(key, data);
        mine.isKept = true;
        setTimeout(forget, FRESH_MS);
    } catch {
        // Who shows it asks again, and says what is wrong.
        forget();
    }
}

/**
 * @template T
 * @param {string | null} key names the request; null: nothing is loaded
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @returns {{data: T | undefined, error: ApiError | null, isLoading: boolean, reload: () => void}} error: of the last attempt
 */
export function useLoad(key, load) {
    const [, draw] = useState(0);
    const [turn, setTurn] = useState(0);
    const [failed, setFailed] = useState(/** @type {{key: string, error: ApiError} | null} */ (null));
    const [busy, setBusy] = useState(/** @type {string | null} */ (null));
    // Before the screen is drawn: the frame need not be waited for.
    useLayoutEffect(() => {
        if (key === null) return;
        const before = early.get(key);
        early.delete(key);
        // It came a moment ago, and is drawn already.
        if (before?.isKept && cache.has(key)) return;
        const abort = new AbortController();
        setBusy(key);
        (before?.answer ?? load(abort.signal)).then(
            (data) => {
                if (abort.signal.aborted) return;
                keep(key, data);
                setFailed(null);
                setBusy(null);
                draw((n) => n + 1);
            },
            (error) => {
                if (abort.signal.aborted) return;
                setFailed({ key, error: error instanceof ApiError ? error : new ApiError(0, String(error?.message ?? error)) });
                setBusy(null);
            },
        );
        return () => abort.abort();
    }, [key, turn]);
    useEffect(() => {
        /** @param {string} prefix @param {boolean} isDrawn */
        const listener = (prefix, isDrawn) => {
            if (isDrawn && key === prefix) draw((n) => n + 1);
            else if (!isDrawn && key?.startsWith(prefix)) setTurn((n) => n + 1);
        };
        listeners.add(listener);
        return () => {
            listeners.delete(listener);
        };
    }, [key]);
    const data = key === null ? undefined : cache.get(key);
    const error = failed && failed.key === key ? failed.error : null;
    const isLoading = key !== null && (busy === key || (data === undefined && !error));
    return { data, error, isLoading, reload: () => setTurn((n) => n + 1) };
}
