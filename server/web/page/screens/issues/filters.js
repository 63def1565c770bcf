/** Which issues are listed: by state, and by filters that were saved for the project. */
import { html, useState } from "../../lib/preact.js";
import { readPref, writePref } from "../../lib/store.js";
import { replaceKey, words } from "../../lib/query.js";
import { setQuery } from "../../lib/router.js";
import { Dialog, DialogButtons } from "../../ui/dialog.js";
import { Menu } from "../../ui/menu.js";
import { toast } from "../../ui/toast.js";

const STATES = [
    { word: "is:open", text: "Open" },
    { word: "is:new", text: "New" },
    { word: "is:regressed", text: "Regressed" },
    { word: "is:ignored", text: "Ignored" },
    { word: "is:resolved", text: "Resolved" },
    { word: "", text: "All" },
];

/** @param {{query: string}} props */
export function StateTabs({ query }) {
    const now = words(query).filter((word) => word.toLowerCase().startsWith("is:")).join(" ");
    return html`<div class="tabs" role="group" aria-label="State of the issues">
        ${STATES.map(({ word, text }) => html`<button type="button" class="tab" key=${text} aria-pressed=${String(now === word)}
            onClick=${() => setQuery({ query: replaceKey(query, "is", word) })}>${text}</button>`)}
    </div>`;
}

/** @typedef {{name: string, query: string, since?: string, until?: string, sort?: string}} Saved */

/** @param {{filter: Omit<Saved, "name">, save: (name: string) => void, close: () => void}} props */
function SaveDialog({ filter, save, close }) {
    const [name, setName] = useState("");
    return html`<${Dialog} title="Save this filter" close=${close}>
        <form class="form" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), save(name.trim()), close())}>
            <p class="muted">Query, time range and order, for you in this browser: <code>${filter.query || "everything"}</code></p>
            <label class="field"><span>Name</span><input type="text" maxlength="60" required value=${name} data-first
                onInput=${(/** @type {any} */ event) => setName(event.target.value)} /></label>
            <${DialogButtons} text="Save" disabled=${!name.trim()} close=${close} />
        </form>
    <//>`;
}

/** @param {{project: string, filter: Omit<Saved, "name">}} props */
export function SavedFilters({ project, filter }) {
    const key = `filters.${project}`;
    const [saved, setSaved] = useState(/** @type {Saved[]} */ (readPref(key, [])));
    const [isSaving, setSaving] = useState(false);
    const keep = (/** @type {Saved[]} */ all) => {
        writePref(key, all);
        setSaved(all);
    };
    const same = (/** @type {Saved} */ one) => one.query === filter.query && one.since === filter.since && one.until === filter.until;
    const now = saved.find(same);
    const items = [
        ...saved.map((one) => ({
            text: one.name, chosen: one === now, group: "Saved filters",
            run: () => setQuery({ query: one.query, since: one.since, until: one.until, sort: one.sort }),
        })),
        { text: "Save this filter…", icon: "star", group: "This filter", disabled: !!now, run: () => setSaving(true) },
        ...(now ? [{
            text: `Delete “${now.name}”`, icon: "cross", group: "This filter",
            run: () => {
                keep(saved.filter((one) => one !== now));
                toast(`Filter “${now.name}” deleted`, { action: { text: "Undo", run: () => keep(saved) } });
            },
        }] : []),
    ];
    return html`<${Menu} label=${now?.name ?? "Filters"} icon="star" items=${items} side="right" />
        ${isSaving && html`<${SaveDialog} filter=${filter} close=${() => setSaving(false)}
            save=${(/** @type {string} */ name) => keep([...saved.filter((one) => one.name !== name), { name, ...filter }])} />`}`;
}
