/** A long list of rows of one height, of which only those near the window are in the document. */
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../lib/preact.js";

const BEYOND = 12, ROW = 60;
const ABOVE = 150; // at least, of the bar and what is above the list

/** @param {HTMLElement} list */
function rowHeight(list) {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    return parseFloat(getComputedStyle(list).getPropertyValue("--row")) * rem || ROW;
}

/**
 * The height of a row is the CSS variable --row of the list, in rem, since it differs between wide and narrow windows.
 *
 * @param {{n: number, keep?: number, row: (i: number) => any, onEnd?: () => void, name: string}} props
 *   keep: a row that stays, since it has the focus; onEnd: the end comes near
 */
export function VirtualRows({ n, keep = -1, row, onEnd, name }) {
    const ref = useRef(/** @type {HTMLElement | null} */ (null));
    // Until it is measured: what a window shows. The rows beyond come when those are drawn.
    const [at, setAt] = useState({ from: 0, to: Math.ceil(Math.max(ROW, innerHeight - ABOVE) / ROW), height: ROW });
    const measure = () => {
        const list = ref.current;
        if (!list) return;
        const height = rowHeight(list);
        const top = list.getBoundingClientRect().top;
        const from = Math.max(0, Math.floor(-top / height) - BEYOND);
        const to = Math.min(n, Math.ceil((innerHeight - top) / height) + BEYOND);
        setAt((was) => (was.from === from && was.to === to && was.height === height ? was : { from, to, height }));
        if (to >= n - BEYOND) onEnd?.();
    };
    const isNew = useRef(true);
    useLayoutEffect(() => {
        // Of a new list only the style is asked for: where it is would cost a layout before that of the frame.
        if (!isNew.current) return measure();
        isNew.current = false;
        const height = rowHeight(/** @type {HTMLElement} */ (ref.current));
        if (height !== at.height) setAt({ ...at, height });
    }, [n]);
    useEffect(() => {
        measure();
        addEventListener("scroll", measure, { passive: true });
        addEventListener("resize", measure);
        return () => {
            removeEventListener("scroll", measure);
            removeEventListener("resize", measure);
        };
    });
    // The same object is not compared again, as when one scrolls.
    const made = useMemo(() => new Map(), [row, at.height]);
    const shown = [];
    for (let i = at.from; i < Math.min(at.to, n); i++) shown.push(i);
    if (keep >= 0 && keep < n && !shown.includes(keep)) shown.push(keep);
    return html`<div class=${`virtual ${name}`} role="rowgroup" ref=${ref} style=${{ height: `${n * at.height}px` }}>
        ${shown.map((i) => made.get(i) ?? made.set(i, html`<div class="virtual-row" key=${i} style=${{ top: `${i * at.height}px` }} role="presentation">${row(i)}</div>`).get(i))}
    </div>`;
}
