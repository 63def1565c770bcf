/** Which issues are listed: by state, and by filters that were saved for the project. */
import { html, useState } from "../../lib/preact.js";
import { get, post, request } from "../../lib/api.js";
import { changed, useLoad } from "../../lib/load.js";
import { may, prefOf } from "../../lib/session.js";
import { readPref, writePref } from "../../lib/store.js";
import { replaceKey, words } from "../../lib/query.js";
import { setQuery } from "../../lib/router.js";
import { attempt, Field, FormDialog } from "../../ui/form.js";
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

/** @typedef {{id?: number, name: string, query: string, since?: string, until?: string, sort?: string}} Saved id: of those of the project */

/** @param {{filter: Omit<Saved, "name">, mayShare: boolean, save: (name: string, isShared: boolean) => Promise<any>, close: () => void}} props */
function SaveDialog({ filter, mayShare, save, close }) {
    const [name, setName] = useState("");
    const [isShared, setShared] = useState(mayShare);
    return html`<${FormDialog} title="Save this filter" text="Save" send=${() => save(name.trim(), isShared)} disabled=${!name.trim()} close=${close}>
        <p class="muted">Query, time range and order: <code>${filter.query || "everything"}</code></p>
        <${Field} label="Name" maxlength="60" required data-first value=${name} set=${setName} />
        ${mayShare
            ? html`<label class="check"><input type="checkbox" checked=${isShared} onChange=${() => setShared(!isShared)} /><span>For everybody in the project</span></label>`
            : html`<p class="small muted">For you, in this browser.</p>`}
    <//>`;
}

/** @param {{project: string, filter: Omit<Saved, "name">}} props */
export function SavedFilters({ project, filter }) {
    const key = prefOf("filters", project);
    const [own, setOwn] = useState(/** @type {Saved[]} */ (readPref(key, [])));
    const [isSaving, setSaving] = useState(false);
    const { data } = useLoad(`filters/${project}`, (signal) => get("/filters", {}, signal));
    const keep = (/** @type {Saved[]} */ all) => {
        writePref(key, all);
        setOwn(all);
    };
    const mayShare = may(project, "member");
    const share = async (/** @type {Saved} */ { name, query, since, until, sort }) => (await post("/filters", { name, query, since, until, sort }), changed("filters/"));
    const same = (/** @type {Saved} */ one) => one.query === filter.query && one.since === filter.since && one.until === filter.until;
    const shared = /** @type {Saved[]} */ (data?.filters ?? []);
    const now = [...shared, ...own].find(same);
    const item = (/** @type {string} */ group) => (/** @type {Saved} */ one) => ({
        text: one.name, chosen: one === now, group,
        run: () => setQuery({ query: one.query, since: one.since, until: one.until, sort: one.sort }),
    });
    const remove = (/** @type {Saved} */ one) => attempt(async () => {
        if (one.id) await request("DELETE", `/filters/${one.id}`);
        else keep(own.filter((each) => each !== one));
        changed("filters/");
        toast(`Filter “${one.name}” deleted`, { action: { text: "Undo", run: () => (one.id ? attempt(() => share(one)) : keep(own)) } });
    });
    const items = [
        ...shared.map(item("Of the project")),
        ...own.map(item("In this browser")),
        { text: "Save this filter…", icon: "star", group: "This filter", disabled: !!now, run: () => setSaving(true) },
        ...(now && (mayShare || !now.id) ? [{ text: `Delete “${now.name}”`, icon: "cross", group: "This filter", run: () => remove(now) }] : []),
    ];
    const save = async (/** @type {string} */ name, /** @type {boolean} */ isShared) => {
        if (isShared) await share({ name, ...filter });
        else keep([...own.filter((one) => one.name !== name), { name, ...filter }]);
    };
    return html`<${Menu} label=${now?.name ?? "Filters"} icon="star" items=${items} side="right" />
        ${isSaving && html`<${SaveDialog} filter=${filter} mayShare=${mayShare} close=${() => setSaving(false)} save=${save} />`}`;
}
