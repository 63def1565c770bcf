/** Pieces of text: of any length, times, facts. */
import { html, useLayoutEffect, useRef, useState } from "../lib/preact.js";
import { number } from "../lib/format.js";
import { ago, agoText, fullTime } from "../lib/time.js";

const SHOWN = 2000;

/** @param {{text: any, most?: number}} props */
export function LongText({ text, most = SHOWN }) {
    const [isAll, setAll] = useState(false);
    const whole = String(text);
    if (whole.length <= most || isAll) return whole;
    return html`${whole.slice(0, most)}… <button type="button" class="linklike small" onClick=${() => setAll(true)}>show all ${number(whole.length)} characters</button>`;
}

/**
 * How long ago something was, with the exact time as its tooltip: "5 min" where the head of a column says what it is, else "5 min ago".
 * @param {{at: string, isColumn?: boolean, class?: string}} props
 */
export function Age({ at, isColumn = false, class: className }) {
    return html`<time class=${className} datetime=${at} title=${fullTime(at)}>${isColumn ? ago(at) : agoText(at)}</time>`;
}

/**
 * A row of links of which a narrow window shows a part: the present one is in it.
 * @param {string} now what the present one depends on @returns {{current: HTMLElement | null}} for the element around them
 */
export function usePresentInView(now) {
    const ref = useRef(/** @type {HTMLElement | null} */ (null));
    useLayoutEffect(() => {
        const row = ref.current;
        if (!row) return;
        // Told after the layout of the frame, which nothing has to force, and when the window changes.
        const watcher = new ResizeObserver(() => {
            const one = row.querySelector("[aria-current]");
            if (!one || row.scrollWidth <= row.clientWidth) return;
            const a = row.getBoundingClientRect(), b = one.getBoundingClientRect();
            row.scrollLeft += b.left + b.width / 2 - a.left - a.width / 2;
        });
        watcher.observe(row);
        return () => watcher.disconnect();
    }, [now]);
    return ref;
}

/** One of a list of facts. @param {{name: string, children?: any}} props */
export function Fact({ name, children }) {
    return html`<div class="fact"><dt>${name}</dt><dd>${children}</dd></div>`;
}
