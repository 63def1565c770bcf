/** A modal dialog: the browser keeps the focus inside and gives it back. */
import { html, useId, useLayoutEffect, useRef } from "../lib/preact.js";
import { Icon } from "./icon.js";

/** @param {{title: string, close: () => void, children?: any, wide?: boolean}} props */
export function Dialog({ title, close, children, wide = false }) {
    const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
    const id = useId();
    // Before the next key arrives, which belongs to the dialog.
    useLayoutEffect(() => {
        const dialog = ref.current;
        const before = document.activeElement;
        dialog?.showModal();
        const first = /** @type {HTMLElement | null | undefined} */ (dialog?.querySelector("[data-first]"));
        first?.focus();
        return () => {
            // While the dialog is there, nothing outside of it can have the focus.
            queueMicrotask(() => document.activeElement === document.body && before instanceof HTMLElement && before.focus());
        };
    }, []);
    /** A click on the backdrop is one on the dialog itself. @param {MouseEvent} event */
    const onClick = (event) => {
        if (event.target === ref.current) close();
    };
    return html`<dialog class=${`dialog ${wide ? "wide" : ""}`} ref=${ref} aria-labelledby=${id} onClose=${close} onClick=${onClick}
        onCancel=${(/** @type {Event} */ event) => {
            event.preventDefault();
            close();
        }}>
        <div class="dialog-body">
            <header class="dialog-head">
                <h2 id=${id}>${title}</h2>
                <button type="button" class="button ghost square" aria-label="Close" onClick=${close}><${Icon} name="cross" /></button>
            </header>
            ${children}
        </div>
    </dialog>`;
}

/**
 * The buttons at the end of a form in a dialog.
 * @param {{text: string, isBusy?: boolean, disabled?: boolean, danger?: boolean, close: () => void}} props
 */
export function DialogButtons({ text, isBusy = false, disabled = false, danger = false, close }) {
    return html`<footer class="dialog-foot">
        <button type="button" class="button" onClick=${close}>Cancel</button>
        <button type="submit" class=${`button ${danger ? "danger" : "primary"}`} disabled=${isBusy || disabled}>${isBusy ? "…" : text}</button>
    </footer>`;
}
