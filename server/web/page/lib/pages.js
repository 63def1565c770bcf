/** A list that comes in pages: what was loaded stays, more is added at its end. */
import { useRef } from "./preact.js";
import { PAGE } from "./asked.js";
import { change, peek, useLoad } from "./load.js";
import { toastError } from "../ui/toast.js";

const MOST_AT_ONCE = 500;

/**
 * @template T
 * @param {string} key
 * @param {(page: {limit: number, cursor?: string}, signal?: AbortSignal) => Promise<{rows: T[], next?: string, more: any}>} load
 * @param {(row: T) => any} idOf
 */
export function usePages(key, load, idOf) {
    const isBusy = useRef(false);
    const first = useLoad(key, (signal) => {
        // Loaded again, the list is as long as it was, so that nothing moves under the reader.
        const limit = Math.min(MOST_AT_ONCE, Math.max(PAGE, peek(key)?.rows.length ?? 0));
        return load({ limit }, signal);
    });
    const loadMore = async () => {
        const now = peek(key);
        if (!now?.next || isBusy.current) return;
        isBusy.current = true;
        try {
            const page = await load({ limit: PAGE, cursor: now.next });
            change(key, (was) => {
                // The order may have changed between two pages.
                const known = new Set(was.rows.map(idOf));
                return { ...was, next: page.next, rows: [...was.rows, ...page.rows.filter((row) => !known.has(idOf(row)))] };
            });
        } catch (error) {
            toastError(error);
        }
        isBusy.current = false;
    };
    return { ...first, loadMore };
}
