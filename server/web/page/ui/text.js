/** Pieces of text: of any length, times, facts. */
import { html, useState } from "../lib/preact.js";
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

/** One of a list of facts. @param {{name: string, children?: any}} props */
export function Fact({ name, children }) {
    return html`<div class="fact"><dt>${name}</dt><dd>${children}</dd></div>`;
}
