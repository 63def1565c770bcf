/** What everybody in the project shares: its name, links to source code, saved filters; and new projects. */
import { html, useState } from "../../lib/preact.js";
import { get, patch, post, request } from "../../lib/api.js";
import { changed, useLoad } from "../../lib/load.js";
import { go, pathTo } from "../../lib/router.js";
import { login, may, readSession } from "../../lib/session.js";
import { templateProblem } from "../../lib/source.js";
import { useStore } from "../../lib/store.js";
import { Once } from "./users.js";
import { attempt, Field, Form, FormDialog, Lines } from "../../ui/form.js";
import { SourceFields } from "../../ui/source_fields.js";
import { Failure, Skeleton } from "../../ui/state.js";
import { toast } from "../../ui/toast.js";

const NAME = { pattern: "[a-z0-9][a-z0-9_\\-]{0,63}", title: "a to z, digits, _ and -", required: true, maxlength: 64, autocomplete: "off" };
const ARROW = " => ";

/** @param {{project: string, disabled: boolean}} props */
function Name({ project, disabled }) {
    const [name, setName] = useState(project);
    const send = async () => {
        await request("PUT", "/project", { body: { name } });
        await readSession();
        go(pathTo(name, "settings", "general"), { replace: true });
        toast(`The project is called ${name} now`);
    };
    return html`<${Form} text="Rename" send=${send} disabled=${disabled || name === project}>
        <${Field} label="Name of the project" ...${NAME} disabled=${disabled} value=${name} set=${setName} />
        <p class="small muted">Addresses with the old name find nothing then; tokens and keys go on working.</p><//>`;
}

/**
 * @typedef {{source_template: string, source_paths: {from: string, to: string}[], cut_prefixes: string[]}} Settings
 * @param {{project: string, settings: Settings, disabled: boolean}} props
 */
function Sources({ project, settings, disabled }) {
    const [template, setTemplate] = useState(settings.source_template);
    const [pairs, setPairs] = useState(settings.source_paths.map(({ from, to }) => from + ARROW + to));
    const [cut, setCut] = useState(settings.cut_prefixes);
    const paths = pairs.filter((one) => one.trim()).map((one) => {
        const [from, to = ""] = one.split(ARROW);
        return { from: from.replace(/ =>$/, "").trim(), to: to.trim() };
    });
    const send = async () => {
        const body = { source_template: template.trim(), source_paths: paths, cut_prefixes: cut.map((one) => one.trim()).filter(Boolean) };
        await request("PUT", "/project", { body });
        changed(`project/${project}`);
        toast("It is saved, for everybody in the project");
    };
    return html`<${Form} text="Save" send=${send} disabled=${disabled || !!templateProblem(template)}>
        <${SourceFields} setting=${{ template, paths }} none="none" set=${setTemplate} disabled=${disabled} />
        <${Lines} label="Beginnings of paths and what takes their place in links, one on each line" help=${"/Users/ci/ShopKit/ => Packages/ShopKit/\n/Users/ci/shop/ =>"}
            list=${pairs} set=${setPairs} disabled=${disabled} />
        <${Lines} label="Beginnings of paths that new reports are stored without, one on each line" help="/Users/ci/build/" list=${cut} set=${setCut} disabled=${disabled} /><//>`;
}

/** @typedef {{id: number, name: string, query: string, since?: string, by: string}} Filter */

/** @param {{project: string}} props */
function Filters({ project }) {
    const [asked, setAsked] = useState(/** @type {Filter | null} */ (null));
    const [name, setName] = useState("");
    const { data, error, reload } = useLoad(`filters/${project}`, (signal) => get("/filters", {}, signal));
    if (error && !data) return html`<${Failure} error=${error} retry=${reload} />`;
    if (!data) return html`<${Skeleton} />`;
    const again = () => changed("filters/");
    const rename = async () => (await patch(`/filters/${asked?.id}`, { name }), again());
    const remove = (/** @type {Filter} */ one) => attempt(() => request("DELETE", `/filters/${one.id}`), `Filter “${one.name}” deleted`).then(again);
    return html`
        ${data.filters.length === 0 && html`<p class="muted">None yet. <em>Filters</em> in the list of issues saves one.</p>`}
        <ul class="rows">${data.filters.map((/** @type {Filter} */ one) => html`<li key=${one.id} class="file">
            <div class="file-main"><div class="file-line"><b>${one.name}</b> <span class="small muted">by ${one.by}</span></div>
                <p class="small"><code>${one.query || "everything"}</code> ${one.since}</p></div>
            ${may(project, "member") && html`<div class="buttons end"><button type="button" class="button small" aria-label=${`Rename ${one.name}`}
                onClick=${() => (setName(one.name), setAsked(one))}>Rename</button>
            <button type="button" class="button small" aria-label=${`Delete ${one.name}`} onClick=${() => remove(one)}>Delete</button></div>`}</li>`)}</ul>
        ${asked && html`<${FormDialog} title=${`Rename ${asked.name}`} text="Rename" send=${rename} disabled=${!name.trim()} close=${() => setAsked(null)}>
            <${Field} label="Name" maxlength="60" required data-first value=${name} set=${setName} /><//>`}`;
}

/** A project, and the key that its app needs first. */
function NewProject() {
    const [isAsked, setAsked] = useState(false);
    const [name, setName] = useState("");
    const [made, setMade] = useState(/** @type {{name: string, key: string} | null} */ (null));
    const send = async () => {
        await post("/projects", { name });
        await readSession();
        const { token } = await post("/tokens", { label: `ingest key of ${name}`, scopes: ["ingest"] }, { project: name });
        setMade({ name, key: token });
        setName("");
    };
    return html`
        <p><button type="button" class="button" onClick=${() => setAsked(true)}>New project</button></p>
        ${made && html`<${Once} secret=${made.key} name="The key" close=${() => setMade(null)}><a href=${pathTo(made.name, "start")}>${made.name}</a> is made, and its first ingest key.<//>`}
        ${isAsked && html`<${FormDialog} title="New project" text="Make it" send=${send} disabled=${!name} close=${() => setAsked(false)}>
            <${Field} label="Name" ...${NAME} data-first placeholder="shop" value=${name} set=${setName} /><//>`}`;
}

/** @param {{project: string}} props */
export function General({ project }) {
    const now = useStore(login);
    const { data, error, reload } = useLoad(`project/${project}`, (signal) => get("/project", {}, signal));
    if (error && !data) return html`<${Failure} error=${error} retry=${reload} />`;
    if (!data) return html`<${Skeleton} />`;
    const disabled = !may(project, "admin");
    // Whether a token is of all projects is not known; then the server says it.
    const isTop = now.state === "in" && !disabled && (now.session.user?.admin ?? !now.session.user);
    return html`
        <${Name} key=${project} project=${project} disabled=${disabled} />
        <h3>Source code</h3><${Sources} key=${project} project=${project} settings=${data} disabled=${disabled} />
        <h3>Saved filters</h3><${Filters} project=${project} />
        ${isTop && html`<h3>Projects</h3><${NewProject} />`}`;
}
