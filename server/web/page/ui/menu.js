/** A button that opens a list of actions or choices. Arrow keys, Home, End and letters move; Escape closes. */
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from "../lib/preact.js";
import { Icon } from "./icon.js";

/**
 * @typedef {{text: string, hint?: string, run?: () => void, href?: string, download?: boolean, chosen?: boolean,
 *   icon?: string, disabled?: boolean, group?: string}} Item
 */

/** @param {{item: Item, isFirstOfGroup: boolean, close: () => void}} props */
function MenuItem({ item, isFirstOfGroup, close }) {
    const isChoice = item.chosen !== undefined;
    const shared = {
        role: isChoice ? "menuitemradio" : "menuitem",
        "aria-checked": isChoice ? String(item.chosen) : undefined,
        "aria-disabled": item.disabled ? "true" : undefined,
        class: "menu-item",
        tabindex: -1,
    };
    const inner = html`
        <span class="menu-mark">${item.chosen ? html`<${Icon} name="check" />` : item.icon && html`<${Icon} name=${item.icon} />`}</span>
        <span class="grow">${item.text}</span>
        ${item.hint && html`<span class="menu-hint">${item.hint}</span>`}`;
    const run = () => {
        if (item.disabled) return;
        close();
        item.run?.();
    };
    return html`
        ${isFirstOfGroup && html`<div class="menu-group" role="presentation">${item.group}</div>`}
        ${item.href
            ? html`<a ...${shared} href=${item.href} download=${item.download} onClick=${close}>${inner}</a>`
            : html`<button type="button" ...${shared} onClick=${run}>${inner}</button>`}`;
}

/** @param {KeyboardEvent} event @param {HTMLElement} list */
function move(event, list) {
    const items = [.../** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll(".menu-item"))];
    const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const steps = { ArrowDown: at + 1, ArrowUp: at < 0 ? -1 : at - 1, Home: 0, End: items.length - 1 };
    let to = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (to === undefined && event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey) {
        const after = [...items.slice(at + 1), ...items.slice(0, at + 1)];
        const found = after.find((item) => item.textContent?.trim().toLowerCase().startsWith(event.key.toLowerCase()));
        if (found) to = items.indexOf(found);
    }
    if (to === undefined) return;
    event.preventDefault();
    items.at(to % items.length)?.focus();
}

/**
 * @param {{label: any, name?: string, items: Item[], class?: string, side?: "left" | "right", icon?: string, plain?: boolean,
 *   disabled?: boolean, openRef?: {current: (() => void) | null}}} props name: for screen readers, if the label is not enough
 */
export function Menu({ label, name, items, class: className = "button", side = "left", icon, plain, disabled, openRef }) {
    const [isOpen, setOpen] = useState(false);
    const root = useRef(/** @type {HTMLElement | null} */ (null));
    const list = useRef(/** @type {HTMLElement | null} */ (null));
    const button = useRef(/** @type {HTMLElement | null} */ (null));
    const id = useId();
    if (openRef) openRef.current = () => setOpen(true);
    const close = () => {
        setOpen(false);
        button.current?.focus();
    };
    useLayoutEffect(() => {
        if (!isOpen || !list.current) return;
        const chosen = list.current.querySelector("[aria-checked=true]") ?? list.current.querySelector(".menu-item");
        /** @type {HTMLElement | null} */ (chosen)?.focus();
        // A menu at the edge of a narrow window moves into it.
        const box = list.current.getBoundingClientRect();
        const over = Math.max(0, box.right - innerWidth + 8) || Math.min(0, box.left - 8);
        if (over) list.current.style.transform = `translateX(${-over}px)`;
    }, [isOpen]);
    useEffect(() => {
        if (!isOpen) return;
        /** @param {Event} event */
        const outside = (event) => {
            if (!root.current?.contains(/** @type {Node} */ (event.target))) setOpen(false);
        };
        document.addEventListener("pointerdown", outside);
        document.addEventListener("focusin", outside);
        return () => {
            document.removeEventListener("pointerdown", outside);
            document.removeEventListener("focusin", outside);
        };
    }, [isOpen]);
    /** @param {KeyboardEvent} event */
    const onKeyDown = (event) => {
        if (event.key === "Escape") {
            event.stopPropagation();
            close();
        } else if (event.key === "Tab") {
            setOpen(false);
        } else if (list.current) {
            move(event, list.current);
        }
    };
    return html`<div class="menu" ref=${root}>
        <button type="button" class=${className} ref=${button} disabled=${disabled} aria-haspopup="menu" aria-expanded=${String(isOpen)}
            aria-controls=${isOpen ? id : undefined} aria-label=${name} title=${name}
            onClick=${() => setOpen(!isOpen)}
            onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "ArrowDown" && !isOpen && (event.preventDefault(), setOpen(true))}>
            ${icon && html`<${Icon} name=${icon} />`}${label && html`<span class="cut">${label}</span>`}
            ${!plain && html`<${Icon} name="down" size=${12} />`}
        </button>
        ${isOpen && html`<div class="menu-list ${side}" id=${id} role="menu" aria-label=${name ?? (typeof label === "string" ? label : undefined)}
            ref=${list} onKeyDown=${onKeyDown}>
            ${items.map((item, i) => html`<${MenuItem} key=${item.text} item=${item} close=${close}
                isFirstOfGroup=${!!item.group && item.group !== items[i - 1]?.group} />`)}
        </div>`}
    </div>`;
}
