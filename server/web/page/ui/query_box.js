/**
 * The box for a query: completion while it is typed, and the place of a mistake marked in it.
 *
 * The pattern is that of a combobox with a list (ARIA 1.2): the focus stays in the box, the arrow keys choose in the list.
 */
import { html, useEffect, useId, useRef, useState } from "../lib/preact.js";
import { get } from "../lib/api.js";
import { count } from "../lib/format.js";
import { Icon } from "./icon.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** @param {string} text @param {number} at an index of the text */
const toByte = (text, at) => encoder.encode(text.slice(0, at)).length;

/** @param {string} text @param {number} byte */
const fromByte = (text, byte) => decoder.decode(encoder.encode(text).slice(0, byte)).length;

const TYPING_MS = 90;

const NOTHING = { start: 0, items: /** @type {Completion[]} */ ([]) };

/** @typedef {{text: string, help?: string, reports?: number}} Completion */

/** The mistake, underlined in the text, which lies exactly over this copy of it. @param {{text: string, offset: number}} props */
function Mistake({ text, offset }) {
    const at = fromByte(text, offset);
    const len = Math.max(1, text.slice(at).search(/\s|$/));
    return html`<div class="query-mistake" aria-hidden="true">${text.slice(0, at)}<mark>${text.slice(at, at + len) || " "}</mark></div>`;
}

/** @param {{items: Completion[], at: number, id: string, pick: (item: Completion) => void}} props */
function Completions({ items, at, id, pick }) {
    return html`<ul class="query-list" id=${id} role="listbox" aria-label="Completions">
        ${items.map((item, i) => html`<li key=${item.text} id=${`${id}-${i}`} role="option" aria-selected=${String(i === at)}
            onPointerDown=${(/** @type {Event} */ event) => (event.preventDefault(), pick(item))}>
            <code>${item.text}</code><span class="muted small cut grow">${item.help}</span>
            ${item.reports && html`<span class="muted tiny nowrap">${count(item.reports, "report")}</span>`}
        </li>`)}
    </ul>`;
}

/** What may come at the cursor, a little after the last key. @param {string} text @param {number} cursor @param {boolean} isOpen */
function useCompletions(text, cursor, isOpen) {
    const [found, setFound] = useState({ of: "", start: 0, items: /** @type {Completion[]} */ ([]) });
    const of = `${cursor} ${text}`;
    useEffect(() => {
        if (!isOpen) return;
        const abort = new AbortController();
        const timer = setTimeout(async () => {
            try {
                const answer = await get("/query/complete", { text: text || " ", at: toByte(text, cursor) }, abort.signal);
                if (!abort.signal.aborted) setFound({ of, start: fromByte(text, answer.start), items: answer.items });
            } catch {
                // Without completion the box still works.
            }
        }, TYPING_MS);
        return () => (clearTimeout(timer), abort.abort());
    }, [text, cursor, isOpen]);
    // Those for what was typed before would be put into the wrong place.
    return found.of === of && isOpen ? found : NOTHING;
}

/**
 * @param {{value: string, run: (text: string) => void, error?: import("../lib/api.js").ApiError | null,
 *   inputRef: {current: HTMLInputElement | null}, placeholder: string, change?: (text: string) => void}} props
 *   change: the box is a field of a form, which gets each text and is sent with Enter
 */
export function QueryBox({ value, run, error, inputRef, placeholder, change }) {
    const [text, setText] = useState(value);
    const [cursor, setCursor] = useState(0);
    const [isOpen, setOpen] = useState(false);
    const [at, setAt] = useState(-1);
    const [scrolled, setScrolled] = useState(0);
    const id = useId();
    const next = useRef(/** @type {number | null} */ (null));
    useEffect(() => setText(value), [value]);
    useEffect(() => change?.(text), [text]);
    const { start, items } = useCompletions(text, cursor, isOpen);
    useEffect(() => setAt(-1), [items]);
    useEffect(() => {
        if (next.current === null) return;
        inputRef.current?.setSelectionRange(next.current, next.current);
        next.current = null;
    });
    const submit = (/** @type {string} */ query) => {
        setOpen(false);
        run(query.trim());
    };
    const pick = (/** @type {Completion} */ item) => {
        const isDone = !/[:.]$/.test(item.text);
        const added = item.text + (isDone && !/^\s/.test(text.slice(cursor)) ? " " : "");
        const whole = text.slice(0, start) + added + text.slice(cursor);
        next.current = start + added.length;
        setText(whole);
        setCursor(next.current);
    };
    const onInput = (/** @type {any} */ event) => {
        setText(event.target.value);
        setCursor(event.target.selectionStart ?? event.target.value.length);
        setOpen(true);
    };
    const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
        const isList = isOpen && items.length > 0;
        if (isList && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
            event.preventDefault();
            const step = event.key === "ArrowDown" ? 1 : -1;
            setAt((at + step + items.length + (at < 0 && step < 0 ? 1 : 0)) % items.length);
        } else if (isList && (event.key === "Tab" || event.key === "Enter") && !event.shiftKey && at >= 0) {
            event.preventDefault();
            pick(items[at]);
        } else if (isList && event.key === "Tab" && !event.shiftKey && items[0].text.length > cursor - start) {
            event.preventDefault();
            pick(items[0]);
        } else if (event.key === "Enter" && change) {
            setOpen(false);
        } else if (event.key === "Enter") {
            submit(text);
            // What comes next is walking through the list: its keys must not be typed into the box.
            document.getElementById("main")?.focus({ preventScroll: true });
        } else if (event.key === "Escape") {
            // A dialog around the box stays open.
            if (isList) event.preventDefault();
            if (isOpen) setOpen(false);
            else if (text !== value) setText(value);
            else inputRef.current?.blur();
        } else if (event.key === "ArrowDown") {
            setOpen(true);
        }
    };
    const hasMistake = !!error && typeof error.detail?.offset === "number" && text === value;
    return html`<div class="query">
        <div class=${`query-field ${error ? "wrong" : ""}`}>
            <${Icon} name="search" />
            <div class="query-text">
                ${hasMistake && html`<div class="query-under" style=${{ transform: `translateX(${-scrolled}px)` }}>
                    <${Mistake} text=${text} offset=${error.detail.offset} /></div>`}
                <input ref=${inputRef} type="text" role="combobox" aria-label="Query" aria-expanded=${String(isOpen && items.length > 0)}
                    aria-controls=${`${id}-list`} aria-autocomplete="list" aria-invalid=${error ? "true" : undefined}
                    aria-describedby=${error ? `${id}-error` : undefined}
                    aria-activedescendant=${isOpen && at >= 0 ? `${id}-list-${at}` : undefined}
                    autocomplete="off" autocapitalize="off" spellcheck="false" enterkeyhint="search" placeholder=${placeholder}
                    value=${text} onInput=${onInput} onKeyDown=${onKeyDown}
                    onClick=${(/** @type {any} */ event) => setCursor(event.target.selectionStart)}
                    onBlur=${() => setOpen(false)} onScroll=${(/** @type {any} */ event) => setScrolled(event.target.scrollLeft)} />
            </div>
            ${text && html`<button type="button" class="button ghost square small" aria-label="Clear the query"
                onClick=${() => (setText(""), submit(""), inputRef.current?.focus())}><${Icon} name="cross" /></button>`}
        </div>
        ${isOpen && items.length > 0 && html`<${Completions} items=${items} at=${at} id=${`${id}-list`} pick=${pick} />`}
        ${error && html`<p class="query-error" id=${`${id}-error`} role="alert">${error.message}</p>`}
    </div>`;
}
