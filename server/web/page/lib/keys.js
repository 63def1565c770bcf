/**
 * Keyboard shortcuts: single keys ("j") and pairs ("g i"), off while something is typed, and listed for the help.
 *
 * They can be switched off (WCAG 2.1.4), since speech input types them by accident.
 */
import { useEffect, useRef } from "./preact.js";
import { createStore } from "./store.js";

/** @typedef {{keys: string, text: string, run: (event: KeyboardEvent) => void, group?: string}} Shortcut */

const OFF_KEY = "framezero.shortcuts";
const PAIR_MS = 1200;

export const shortcutsOn = createStore(localStorage.getItem(OFF_KEY) !== "off");
shortcutsOn.listen((on) => localStorage.setItem(OFF_KEY, on ? "on" : "off"));

/** @type {{current: Shortcut[]}[]} */
const active = [];
let first = "";
let firstAt = 0;

/** Those of everything that is on the screen; of equal keys the newest. */
export function listShortcuts() {
    /** @type {Map<string, Shortcut>} */
    const found = new Map();
    for (const { current } of active) {
        for (const shortcut of current) {
            found.delete(shortcut.keys);
            found.set(shortcut.keys, shortcut);
        }
    }
    return [...found.values()];
}

/** @param {KeyboardEvent} event */
function isTyping(event) {
    const at = event.target;
    if (!(at instanceof HTMLElement)) return false;
    if (at instanceof HTMLInputElement) return !["checkbox", "radio", "button"].includes(at.type);
    return at.isContentEditable || at instanceof HTMLTextAreaElement || at instanceof HTMLSelectElement;
}

/** @param {KeyboardEvent} event */
function onKey(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (!shortcutsOn.get() || isTyping(event)) return;
    // An open dialog or menu has keys of its own.
    if (event.target instanceof Element && event.target.closest("dialog, [role=menu], [role=listbox]")) return;
    const pair = first && event.timeStamp - firstAt < PAIR_MS ? `${first} ${event.key}` : "";
    const all = listShortcuts();
    const found = all.find((one) => one.keys === pair) ?? all.find((one) => one.keys === event.key);
    first = "";
    if (found) {
        event.preventDefault();
        found.run(event);
    } else if (all.some((one) => one.keys.startsWith(`${event.key} `))) {
        first = event.key;
        firstAt = event.timeStamp;
    }
}
addEventListener("keydown", onKey);

/** The component's shortcuts, as long as it is there. @param {Shortcut[]} shortcuts */
export function useKeys(shortcuts) {
    const ref = useRef(shortcuts);
    ref.current = shortcuts;
    useEffect(() => {
        active.push(ref);
        return () => {
            active.splice(active.indexOf(ref), 1);
        };
    }, []);
}
