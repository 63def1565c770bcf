/** A long list of rows of one height, of which only those near the window are in the document. */
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../lib/preact.js";

const BEYOND = 12, ROW = 60;

/**
 * The height of a row is the CSS variable --row of the list, in rem, since it differs between wide and narrow windows.
 *
 * @param {{n: number, keep?: number, row: (i: number) => any, onEnd?: () => void, name: string}} props
 *   keep: a row that stays, since it has the focus; onEnd: the end comes near
 */
export function VirtualRows({ n, keep = -1, row, onEnd, name }) {
    const ref = useRef(/** @type {HTMLElement | null} */ (null));
    // Until it is measured: what a window shows. The rows beyond come when those are drawn.
    const [at, setAt] = useState({ from: 0, to: Math.ceil(innerHeight / ROW), height: ROW });
    const measure = (beyond = BEYOND) => {
        const list = ref.current;
        if (!list) return;
        const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
        const height = parseFloat(getComputedStyle(list).getPropertyValue("--row")) * rem || ROW;
        const top = list.getBoundingClientRect().top;
        const from = Math.max(0, Math.floor(-top / height) - beyond);
        const to = Math.min(n, Math.ceil((innerHeight - top) / height) + beyond);
        setAt((was) => (was.from === from && was.to === to && was.height === height ? was : { from, to, height }));
        if (to >= n - BEYOND) onEnd?.();
    };
    useLayoutEffect(() => measure(0), [n]);
    useEffect(() => {
        const again = () => measure();
        again();
        addEventListener("scroll", again, { passive: true });
        addEventListener("resize", again);
        return () => {
            removeEventListener("scroll", again);
            removeEventListener("resize", again);
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
