/** Settings by section: the first is the one that everybody needs; and tokens. */
import { html, useState, useEffect } from "../lib/preact.js";
import { get, post, request } from "../lib/api.js";
import { changed, useLoad } from "../lib/load.js";
import { pathTo } from "../lib/router.js";
import { login, may } from "../lib/session.js";
import { useStore } from "../lib/store.js";
import { ago, fullTime } from "../lib/time.js";
import { Snippets } from "./first_run/snippets.js";
import { Alerts } from "./settings/alerts.js";
import { Audit } from "./settings/audit.js";
import { General } from "./settings/general.js";
import { Retention } from "./settings/retention.js";
import { Privacy, Rules } from "./settings/rules.js";
import { Once, Account, Users } from "./settings/users.js";
import { Badge } from "../ui/badge.js";
import { Field, FormDialog } from "../ui/form.js";
import { Failure, Skeleton, Empty } from "../ui/state.js";
import { usePresentInView } from "../ui/text.js";
import { toast } from "../ui/toast.js";

/** @typedef {{id: number, hint: string, label: string, project: string, scopes: string[], created: string, revoked?: string, token?: string}} Token */

const SCOPES = [
    ["ingest", "send reports: an ingest key, for apps"], ["upload", "send symbol files: for build machines"], ["read", "see everything but values of variables"],
    ["variables", "with read: see values of variables and memory"], ["write", "change the state of issues"], ["admin", "everything in this project"],
];

/** @param {{close: () => void, done: (token: Token) => void}} props */
function NewTokenDialog({ close, done }) {
    const [label, setLabel] = useState("");
    const [chosen, setChosen] = useState(new Set(["ingest"]));
    const toggle = (/** @type {string} */ name) => {
        const next = new Set(chosen);
        if (!next.delete(name)) next.add(name);
        setChosen(next);
    };
    const send = async () => done(await post("/tokens", { label: label.trim(), scopes: [...chosen] }));
    return html`<${FormDialog} title="New token or key" text="Make it" send=${send} disabled=${!chosen.size || !label.trim()} close=${close}>
        <${Field} label="Label: what it is for" required maxlength="100" autocomplete="off" data-first placeholder="App Store build" value=${label} set=${setLabel} />
        <fieldset class="choices"><legend>It may</legend>${SCOPES.map(([name, text]) => html`<label key=${name} class="choice">
            <input type="checkbox" checked=${chosen.has(name)} onChange=${() => toggle(name)} /><span><code>${name}</code> <span class="muted">${text}</span></span></label>`)}</fieldset>
    <//>`;
}

/** @param {{token: Token, ask: () => void}} props */
function Row({ token, ask }) {
    return html`<tr class=${token.revoked ? "muted" : ""}>
        <th scope="row"><span class="cut" title=${token.label}>${token.label || "(no label)"}</span></th>
        <td><code>${token.hint}…</code></td>
        <td>${token.scopes.join(", ")}</td>
        <td>${token.project === "*" ? "all projects" : token.project}</td>
        <td><time datetime=${token.created} title=${fullTime(token.created)}>${ago(token.created)}</time></td>
        <td>${token.revoked
            ? html`<${Badge} title=${fullTime(token.revoked)}>revoked<//>`
            : html`<button type="button" class="button small" aria-label=${`Revoke ${token.label || token.hint}`} onClick=${ask}>Revoke</button>`}</td>
    </tr>`;
}

/** @param {{project: string}} props */
function Tokens({ project }) {
    const [asked, setAsked] = useState(/** @type {"" | "new" | Token} */ (""));
    const [made, setMade] = useState(/** @type {Token | null} */ (null));
    const { data, error, reload } = useLoad(`tokens/${project}`, (signal) => get("/tokens", {}, signal));
    if (error && !data) return html`<${Failure} error=${error} retry=${reload} />`;
    if (!data) return html`<${Skeleton} rows=${4} />`;
    const tokens = /** @type {Token[]} */ (data.tokens);
    const revoke = async (/** @type {Token} */ token) => {
        await request("DELETE", `/tokens/${token.id}`);
        toast(`${token.label || token.hint} is revoked`);
        changed("tokens/");
    };
    return html`
        <p class="muted">An ingest key only sends reports and may be in every copy of the app. Everything else is for people and build machines. Only hashes
            are stored, so a token is shown once, when it is made.</p>
        <p><button type="button" class="button primary" onClick=${() => setAsked("new")}>New token or key</button></p>
        ${made && html`<${Once} secret=${made.token} name="The token" close=${() => setMade(null)}><b>${made.label}</b> is made.<//>`}
        <div class="wide-table" tabindex="0" role="region" aria-label="All tokens and keys"><table>
            <caption class="unseen">Tokens and keys</caption>
            <thead><tr><th scope="col">Label</th><th scope="col">Begins with</th><th scope="col">Scopes</th><th scope="col">Of</th><th scope="col">Made</th><th scope="col">State</th></tr></thead>
            <tbody>${[...tokens].reverse().map((token) => html`<${Row} key=${token.id} token=${token} ask=${() => setAsked(token)} />`)}</tbody>
        </table></div>
        ${asked === "new" && html`<${NewTokenDialog} close=${() => setAsked("")} done=${(/** @type {Token} */ token) => (setMade(token), changed("tokens/"))} />`}
        ${typeof asked === "object" && html`<${FormDialog} title=${`Revoke ${asked.label || asked.hint}?`} text="Revoke" danger
            send=${() => revoke(asked)} close=${() => setAsked("")}>
            <p>What uses it is refused from then on${asked.scopes.includes("ingest") ? ": copies of the app that contain it can send no more reports" : ""}. This cannot be undone.</p><//>`}`;
}

/** @type {{name: string, text: string, role: "viewer" | "member" | "admin", View: any, isOfUser?: boolean}[]} */
const SECTIONS = [
    { name: "clients", text: "Connect an app", role: "viewer", View: Snippets },
    { name: "general", text: "General", role: "viewer", View: General },
    { name: "tokens", text: "Tokens and keys", role: "admin", View: Tokens },
    { name: "alerts", text: "Alerts", role: "admin", View: Alerts },
    { name: "grouping", text: "Grouping", role: "admin", View: Rules },
    { name: "privacy", text: "Privacy", role: "admin", View: Privacy },
    { name: "audit", text: "Audit log", role: "admin", View: Audit },
    { name: "retention", text: "Retention", role: "admin", View: Retention },
    { name: "users", text: "Users", role: "admin", View: Users },
    { name: "account", text: "Your account", role: "viewer", View: Account, isOfUser: true },
];

/** @param {{project: string, route: import("../lib/router.js").Route}} props */
export function Screen({ project, route }) {
    const now = useStore(login);
    const id = now.state === "in" ? now.session.projects.find((one) => one.name === project)?.id ?? 1 : 1;
    const isUser = now.state === "in" && !!now.session.user;
    const sections = SECTIONS.filter((one) => may(project, one.role) && (isUser || !one.isOfUser));
    const section = route.item ? sections.find((one) => one.name === route.item) : sections[0];
    const nav = usePresentInView(section?.name ?? "");
    useEffect(() => {
        document.title = `${section?.text ?? "Settings"} – ${project} – framezero`;
    }, [project, section]);
    return html`<div class="settings">
        <h1 class="unseen">Settings</h1>
        <nav class="settings-nav" aria-label="Settings" ref=${nav}>${sections.map((one) => html`<a key=${one.name} href=${pathTo(project, "settings", one.name)}
            aria-current=${one === section ? "page" : undefined}>${one.text}</a>`)}</nav>
        ${section
            ? html`<section class="settings-section" aria-labelledby="section"><h2 id="section">${section.text}</h2><${section.View} project=${project} id=${id} /></section>`
            : html`<${Empty} title="There is no such section"><p>Or your role in this project does not allow it.</p><//>`}
    </div>`;
}
