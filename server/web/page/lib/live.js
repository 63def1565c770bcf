/**
 * What is shown stays current: by the events of the project, or by asking from time to time where there are none.
 *
 * The page has one stream, and only while it is visible: browsers allow few connections to a server, and the server few streams. A
 * tab that comes back asks once for all that it shows.
 */
import { useEffect, useRef } from "./preact.js";
import { openEvents } from "./api.js";

/** @typedef {Record<string, {n: number, ids?: any[], unblocked?: number}>} News docs/api/events.md */

const EVERY_MS = 20000;
const BETWEEN_MS = 2000;
const REFUSED_MS = 60000;

/** @type {Set<(text: string) => void>} with the data of an event; "" = anything may have changed */
const listeners = new Set();
/** @type {EventSource | null} */
let source = null;
let isOpen = false;
let refusedUntil = 0;

/** @param {string} text */
const tell = (text) => listeners.forEach((listener) => listener(text));

export function stopEvents() {
    source?.close();
    source = null;
    isOpen = false;
}

function connect() {
    if (document.hidden || Date.now() < refusedUntil) return;
    const mine = openEvents(source);
    if (mine === source) return;
    stopEvents();
    source = mine;
    mine.onopen = () => {
        isOpen = true;
        tell("");
    };
    mine.onmessage = (event) => tell(event.data);
    mine.onerror = () => {
        isOpen = false;
        // Otherwise the browser connects again by itself.
        if (mine.readyState !== EventSource.CLOSED || mine !== source) return;
        source = null;
        refusedUntil = Date.now() + REFUSED_MS;
    };
}

document.addEventListener("visibilitychange", () => {
    if (document.hidden) return stopEvents();
    if (listeners.size) connect();
    tell("");
});

/** @param {(news: News) => void} call for each event */
export function useNews(call) {
    const last = useRef(call);
    last.current = call;
    useEffect(() => {
        const listener = (/** @type {string} */ text) => text && last.current(JSON.parse(text));
        listeners.add(listener);
        return () => void listeners.delete(listener);
    }, []);
}

/**
 * Load again when there is news: at most every two seconds, and not while it is being loaded.
 * @param {{reload: () => void, isLoading: boolean}} loaded answered with 304 if nothing has changed, so it costs little
 * @param {() => boolean} isCalm is nobody in the middle of something that would move?
 * @param {RegExp} [wanted] in the data of an event
 * @param {number} [every] ms, while there are no events; 0: never, nor by events
 */
export function useLive(loaded, isCalm, wanted = /./, every = EVERY_MS) {
    const last = useRef({ loaded, isCalm });
    last.current = { loaded, isCalm };
    useEffect(() => {
        if (!every) return;
        let at = Date.now();
        let timer = 0;
        const load = () => {
            timer = 0;
            const { loaded, isCalm } = last.current;
            if (document.hidden) return;
            if (loaded.isLoading || !isCalm()) return soon(BETWEEN_MS);
            at = Date.now();
            loaded.reload();
        };
        const soon = (/** @type {number} */ ms) => {
            timer ||= setTimeout(load, ms);
        };
        const listener = (/** @type {string} */ text) => (!text || wanted.test(text)) && soon(at + BETWEEN_MS - Date.now());
        const tick = setInterval(() => {
            connect();
            if (!isOpen) load();
        }, every);
        listeners.add(listener);
        connect();
        return () => {
            clearInterval(tick);
            clearTimeout(timer);
            listeners.delete(listener);
        };
    }, [every]);
}
