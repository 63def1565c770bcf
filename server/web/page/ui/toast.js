/** Short messages about what was just done, spoken by screen readers, with at most one action ("Undo"). */
import { html, useEffect } from "../lib/preact.js";
import { createStore, useStore } from "../lib/store.js";
import { Icon } from "./icon.js";

/** @typedef {{id: number, text: string, kind: "done" | "error", action?: {text: string, run: () => void}}} Toast */

const SHOWN_MS = 6000;
const MOST = 3;
const toasts = createStore(/** @type {Toast[]} */ ([]));
let last = 0;

/** @param {string} text @param {{kind?: "done" | "error", action?: {text: string, run: () => void}}} [how] */
export function toast(text, { kind = "done", action } = {}) {
    toasts.set([...toasts.get(), { id: ++last, text, kind, action }].slice(-MOST));
}

/** What a failed action says. @param {unknown} error */
export function toastError(error) {
    toast(error instanceof Error ? error.message : String(error), { kind: "error" });
}

/** @param {number} id */
const dismiss = (id) => toasts.set(toasts.get().filter((one) => one.id !== id));

/** @param {{toast: Toast}} props */
function ToastBox({ toast: { id, text, kind, action } }) {
    useEffect(() => {
        // Errors and actions stay until they were read.
        const timer = setTimeout(() => dismiss(id), kind === "error" || action ? 2 * SHOWN_MS : SHOWN_MS);
        return () => clearTimeout(timer);
    }, [id]);
    const run = () => {
        dismiss(id);
        action?.run();
    };
    return html`<div class=${`toast ${kind}`}>
        <span class="grow">${text}</span>
        ${action && html`<button type="button" class="button small" onClick=${run}>${action.text}</button>`}
        <button type="button" class="button ghost square small" aria-label="Dismiss" onClick=${() => dismiss(id)}><${Icon} name="cross" /></button>
    </div>`;
}

export function Toasts() {
    const all = useStore(toasts);
    return html`<div class="toasts" role="status" aria-live="polite">${all.map((one) => html`<${ToastBox} key=${one.id} toast=${one} />`)}</div>`;
}
