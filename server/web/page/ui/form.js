/** Forms that send: busy meanwhile, and the server's text where it refuses. */
import { html, useState } from "../lib/preact.js";
import { Dialog, DialogButtons } from "./dialog.js";
import { toast, toastError } from "./toast.js";

/**
 * @param {{text: string, send: () => Promise<any>, disabled?: boolean, danger?: boolean, close?: () => void, children?: any}} props
 *   close: the form is in a dialog, which ends with its success
 */
export function Form({ text, send, disabled = false, danger = false, close, children }) {
    const [error, setError] = useState("");
    const [isBusy, setBusy] = useState(false);
    const submit = async (/** @type {Event} */ event) => {
        event.preventDefault();
        setBusy(true);
        setError("");
        try {
            await send();
            close?.();
        } catch (failure) {
            setError(/** @type {Error} */ (failure).message);
        }
        setBusy(false);
    };
    return html`<form class="form" onSubmit=${submit}>
        ${children}
        ${error && html`<p class="form-error" role="alert">${error}</p>`}
        ${close
            ? html`<${DialogButtons} text=${text} isBusy=${isBusy} disabled=${disabled} danger=${danger} close=${close} />`
            : html`<div class="buttons"><button class="button primary" disabled=${isBusy || disabled}>${isBusy ? "…" : text}</button></div>`}
    </form>`;
}

/** A form in a dialog. @param {{title: string, text: string, send: () => Promise<any>, close: () => void, disabled?: boolean, danger?: boolean, wide?: boolean, children?: any}} props */
export function FormDialog({ title, wide, ...form }) {
    return html`<${Dialog} title=${title} close=${form.close} wide=${wide}><${Form} ...${form} /><//>`;
}

/** A text and its name. @param {{label: string, value: string, set: (text: string) => void, [attribute: string]: any}} props */
export function Field({ label, set, ...input }) {
    return html`<label class="field"><span>${label}</span>
        <input type="text" ...${input} onInput=${(/** @type {any} */ event) => set(event.target.value)} /></label>`;
}

/** Entries, one on each line. @param {{label: string, help: string, list: string[], set: (list: string[]) => void, disabled?: boolean}} props */
export function Lines({ label, help, list, set, disabled }) {
    return html`<label class="field"><span>${label}</span><textarea disabled=${disabled} spellcheck=${false} autocapitalize="off" value=${list.join("\n")} placeholder=${help}
        onInput=${(/** @type {any} */ event) => set(event.target.value.split("\n"))} /></label>`;
}

/** Entries without blanks around them, and without empty ones. @param {string[]} list */
export const cleanLines = (list) => list.map((one) => one.trim()).filter(Boolean);

/** A choice of few. @param {{label: string, value: string, set: (value: string) => void, options: string[][]}} props */
export function Select({ label, value, set, options }) {
    return html`<label class="field"><span>${label}</span>
        <select value=${value} onChange=${(/** @type {any} */ event) => set(event.target.value)}>
            ${options.map(([name, text]) => html`<option key=${name} value=${name} selected=${name === value}>${text}</option>`)}</select></label>`;
}

/** Do what a button says, and say what came of it. @param {() => Promise<any>} run @param {string} [done] */
export async function attempt(run, done) {
    try {
        const answer = await run();
        if (done) toast(done);
        return answer;
    } catch (error) {
        toastError(error);
    }
}
