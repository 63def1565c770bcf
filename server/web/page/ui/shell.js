/** What is around every screen: the bar with projects and screens, the shortcuts that work everywhere, messages. */
import { html, useState, useEffect, useRef } from "../lib/preact.js";
import { listShortcuts, shortcutsOn, useKeys } from "../lib/keys.js";
import { go, pathTo } from "../lib/router.js";
import { logOut } from "../lib/session.js";
import { useStore, theme } from "../lib/store.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icon.js";
import { Menu } from "./menu.js";
import { usePresentInView } from "./text.js";
import { toastError } from "./toast.js";

/** @param {{keys: string}} props */
function Keys({ keys }) {
    return keys.split(" ").map((key, i) => html`${i > 0 && html`<span class="muted small"> then </span>`}<kbd key=${i}>${key}</kbd>`);
}

/** @param {{close: () => void}} props */
function ShortcutHelp({ close }) {
    const isOn = useStore(shortcutsOn);
    const [all] = useState(listShortcuts);
    const groups = [...new Set(all.map((one) => one.group ?? "This screen"))];
    return html`<${Dialog} title="Keyboard shortcuts" close=${close} wide>
        <div class="shortcut-groups">
            ${groups.map((group) => html`<section key=${group}>
                <h3>${group}</h3>
                <dl class="shortcuts">
                    ${all.filter((one) => (one.group ?? "This screen") === group).map((one) => html`<div key=${one.keys}>
                        <dt><${Keys} keys=${one.keys} /></dt><dd>${one.text}</dd>
                    </div>`)}
                </dl>
            </section>`)}
        </div>
        <label class="check"><input type="checkbox" checked=${isOn}
            onChange=${(/** @type {any} */ event) => shortcutsOn.set(event.target.checked)} /> Shortcuts are on</label>
        <p class="small muted"><a href=${new URL("../vendor/licences.txt", import.meta.url).pathname} target="_blank" rel="noopener">Licences of the libraries of this page</a></p>
    <//>`;
}

/** @typedef {{name: string, text: string, key?: string, role?: string}} ScreenLink */

/** @param {{session: import("../lib/types.js").Session, project: string, help: () => void}} props */
function UserMenu({ session, project, help }) {
    const now = useStore(theme);
    const who = session.user ? session.user.name || session.user.email : session.token?.label ?? "token";
    const items = [
        { text: "As the system", chosen: now === "system", run: () => theme.set("system"), group: "Theme" },
        { text: "Light", chosen: now === "light", run: () => theme.set("light"), group: "Theme" },
        { text: "Dark", chosen: now === "dark", run: () => theme.set("dark"), group: "Theme" },
        { text: "Keyboard shortcuts", hint: "?", icon: "keyboard", run: help, group: "Help" },
        ...(session.user ? [{ text: "Your account", href: pathTo(project, "settings", "account"), group: who }] : []),
        { text: "Log out", run: () => logOut().catch(toastError), group: who },
    ];
    return html`<${Menu} name=${`Theme, help, log out: ${who}`} icon="person" items=${items} side="right" class="button ghost" />`;
}

/**
 * @param {{session: import("../lib/types.js").Session, project: string, screen: string, screens: ScreenLink[], children?: any}} props
 */
export function Shell({ session, project, screen, screens, children }) {
    const [isHelpOpen, setHelpOpen] = useState(false);
    const nav = usePresentInView(screen);
    const main = useRef(/** @type {HTMLElement | null} */ (null));
    useKeys([
        { keys: "?", text: "Show this list", group: "Everywhere", run: () => setHelpOpen(true) },
        ...screens.filter((one) => one.key).map((one) => ({
            keys: `g ${one.key}`, text: `Go to ${one.text}`, group: "Everywhere", run: () => go(pathTo(project, one.name)),
        })),
    ]);
    // A new screen begins at its heading, for the keyboard and for screen readers.
    useEffect(() => {
        main.current?.focus({ preventScroll: true });
    }, [project, screen]);
    const projects = session.projects.map((one) => ({
        text: one.name, chosen: one.name === project, run: () => go(pathTo(one.name, screens.some((s) => s.name === screen) ? screen : "issues")),
    }));
    return html`
        <a class="skip" href="#main" onClick=${(/** @type {Event} */ event) => (event.preventDefault(), main.current?.focus())}>Skip to the content</a>
        <header class="bar">
            <a class="brand" href=${pathTo(project, "issues")} aria-label="framezero: issues">
                <svg viewBox="0 0 32 32" width="20" height="20" aria-hidden="true"><rect width="32" height="32" rx="8" /><path d="M9 10h14M9 16h9M9 22h5" /></svg>
                <span class="brand-name">framezero</span>
            </a>
            <${Menu} label=${project} name=${`Project: ${project}`} items=${projects} class="button ghost bar-project" />
            <nav class="bar-nav" aria-label="Screens" ref=${nav}>
                ${screens.map((one) => html`<a key=${one.name} href=${pathTo(project, one.name)}
                    aria-current=${one.name === screen ? "page" : undefined}>${one.text}</a>`)}
            </nav>
            <button type="button" class="button ghost square bar-help" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)"
                onClick=${() => setHelpOpen(true)}><${Icon} name="keyboard" /></button>
            <${UserMenu} session=${session} project=${project} help=${() => setHelpOpen(true)} />
        </header>
        <main id="main" class="main" tabindex="-1" ref=${main}>${children}</main>
        ${isHelpOpen && html`<${ShortcutHelp} close=${() => setHelpOpen(false)} />`}`;
}
