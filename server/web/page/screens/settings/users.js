/** The own account, the users of the server, and what is shown once: a link or a token. */
import { html, useState } from "../../lib/preact.js";
import { get, request, patch, post } from "../../lib/api.js";
import { copy } from "../../lib/copy.js";
import { changed, useLoad } from "../../lib/load.js";
import { login, logOut, readSession } from "../../lib/session.js";
import { useStore } from "../../lib/store.js";
import { agoText, fullTime } from "../../lib/time.js";
import { Badge } from "../../ui/badge.js";
import { attempt, Field, Form, FormDialog, Select } from "../../ui/form.js";
import { Icon } from "../../ui/icon.js";
import { Menu } from "../../ui/menu.js";
import { Failure, Skeleton } from "../../ui/state.js";
import { toast } from "../../ui/toast.js";

/** @param {{secret: string, name: string, close: () => void, children?: any}} props name: of what is copied */
export function Once({ secret, name, close, children }) {
    return html`<div class="panel once" role="status">
        <p>${children} Copy it now: it is not shown again.</p>
        <code class="once-text">${secret}</code>
        <div class="buttons"><button type="button" class="button" onClick=${() => copy(secret, name)}><${Icon} name="copy" />Copy</button>
            <button type="button" class="button ghost" onClick=${close}>Done</button></div>
    </div>`;
}

/** @typedef {{id: number, current: boolean, via: string, created: string, last_used?: string, address?: string, agent?: string}} WebSession */

/** "Firefox on macOS", as far as a User-Agent says it. @param {string} [agent] */
function browserName(agent = "") {
    const browser = ["Edg", "OPR", "Firefox", "Chrome", "Safari"].find((one) => agent.includes(one));
    const system = [["iPhone", "iOS"], ["iPad", "iPadOS"], ["Android", "Android"], ["Mac OS", "macOS"], ["Windows", "Windows"], ["Linux", "Linux"]]
        .find(([word]) => agent.includes(word));
    const name = { Edg: "Edge", OPR: "Opera" }[browser ?? ""] ?? browser;
    return name ? `${name}${system ? ` on ${system[1]}` : ""}` : agent || "unknown browser";
}

/** @param {{user: {name: string}}} props */
function Name({ user }) {
    const [name, setName] = useState(user.name);
    const send = async () => {
        await patch("/account", { name });
        await readSession();
        toast("Your name is changed");
    };
    return html`<${Form} text="Change the name" send=${send} disabled=${!name.trim()}>
        <${Field} label="Name" autocomplete="name" maxlength="100" value=${name} set=${setName} />
    <//>`;
}

function Password() {
    const [old, setOld] = useState("");
    const [next, setNext] = useState("");
    const send = async () => {
        await request("PUT", "/account/password", { body: { old, new: next } });
        setOld("");
        setNext("");
        changed("sessions");
        toast("The password is changed, and all other sessions have ended");
    };
    return html`<${Form} text="Change the password" send=${send} disabled=${!old || !next}>
        <${Field} label="Old password" type="password" autocomplete="current-password" value=${old} set=${setOld} />
        <${Field} label="New password: at least 10 characters" type="password" autocomplete="new-password" minlength="10" value=${next} set=${setNext} />
    <//>`;
}

function Sessions() {
    const { data, error, reload } = useLoad("sessions", (signal) => get("/account/sessions", {}, signal));
    if (error && !data) return html`<${Failure} error=${error} retry=${reload} />`;
    if (!data) return html`<${Skeleton} />`;
    const sessions = /** @type {WebSession[]} */ (data.sessions);
    const end = (/** @type {WebSession} */ one) => request("DELETE", `/account/sessions/${one.id}`);
    const endAll = () => attempt(async () => {
        await Promise.all(sessions.filter((one) => !one.current).map(end));
        await logOut();
    });
    return html`<ul class="rows">${sessions.map((one) => html`<li key=${one.id} class="file">
        <div class="file-main"><div class="file-line"><b title=${one.agent}>${browserName(one.agent)}</b>
            ${one.current && html`<${Badge} kind="green">this one<//>`}</div>
            <p class="small muted">${[one.address, one.via].filter(Boolean).join(", ")}; since <time datetime=${one.created} title=${fullTime(one.created)}>${fullTime(one.created)}</time>${one.last_used && `, last used: ${agoText(one.last_used)}`}</p></div>
        ${!one.current && html`<button type="button" class="button small" aria-label=${`End the session: ${browserName(one.agent)}`}
            onClick=${() => attempt(() => end(one), "The session has ended").then(() => changed("sessions"))}>End</button>`}
    </li>`)}</ul>
    <div class="buttons"><button type="button" class="button" onClick=${endAll}>Log out everywhere</button></div>`;
}

export function Account() {
    const now = useStore(login);
    if (now.state !== "in" || !now.session.user) return null;
    const { user, via } = now.session;
    return html`
        <p class="muted">${user.email}</p>
        <${Name} user=${user} />
        ${via === "password" && html`<h3>Password</h3><${Password} />`}
        <h3>Sessions</h3>
        <${Sessions} />`;
}

/**
 * @typedef {{id: number, email: string, name: string, disabled: boolean, last_login?: string, roles: {project: string, role: string}[],
 *   identities?: {issuer: string, subject: string, since: string}[]}} User
 * @typedef {{what: string, url: string}} Link
 */

const ROLES = [["viewer", "viewer: sees reports"], ["member", "member: also values, changes issues"], ["admin", "admin: also settings and users"]];

/** @param {{project: string, isTop: boolean, close: () => void, done: (link: Link) => void}} props */
function InviteDialog({ project, isTop, close, done }) {
    const [email, setEmail] = useState("");
    const [role, setRole] = useState("member");
    const [where, setWhere] = useState(project);
    const send = async () => {
        const answer = await post("/invitations", { email, role, project: where });
        if (answer.url) done({ what: `The invitation of ${email}`, url: answer.url });
        else toast(`${email} is a user already, and has the role now`);
        changed("users/");
    };
    return html`<${FormDialog} title="Invite somebody" text="Make the link" send=${send} close=${close}>
        <p class="muted">You get a link to pass on, which works once, within 7 days. framezero sends no mail with it.</p>
        <${Field} label="E-mail address" type="email" required maxlength="200" autocomplete="off" data-first value=${email} set=${setEmail} />
        <${Select} label="Role" value=${role} set=${setRole} options=${ROLES} />
        ${isTop && html`<${Select} label="In" value=${where} set=${setWhere} options=${[[project, `the project ${project}`], ["*", "all projects"]]} />`}
    <//>`;
}

/**
 * @param {{user: User, project: string, isTop: boolean, isOwn: boolean, link: (link: Link) => void, remove: () => void,
 *   detach: () => void}} props
 */
function Row({ user, project, isTop, isOwn, link, remove, detach }) {
    const roleIn = (/** @type {string} */ where) => user.roles.find((one) => one.project === where)?.role ?? "none";
    const inAll = roleIn("*");
    const change = (/** @type {any} */ body, /** @type {string} */ done) => attempt(() => patch(`/users/${user.id}`, body), done).then(() => changed("users/"));
    const reset = () => attempt(async () => link({ what: `The link for a new password of ${user.email}`, url: (await post(`/users/${user.id}/reset`)).url }));
    const next = inAll === "admin" ? "none" : "admin";
    const identities = user.identities ?? [];
    const items = [
        { text: "Link for a new password", run: reset },
        ...(identities.length ? [{ text: "Detach from the provider…", run: detach }] : []),
        { text: inAll === "admin" ? "No admin of all projects any more" : "Make admin of all projects",
            run: () => change({ roles: [{ project: "*", role: next }] }, "The role is changed") },
        ...(isOwn ? [] : [
            { text: user.disabled ? "Enable" : "Disable", run: () => change({ disabled: !user.disabled }, user.disabled ? "They may log in again" : "They are logged out everywhere") },
            { text: "Remove…", run: remove },
        ]),
    ];
    const setRole = (/** @type {any} */ event) => change({ roles: [{ project, role: event.target.value }] }, "The role is changed");
    return html`<li class="file">
        <div class="file-main"><div class="file-line"><b>${user.name}</b> <span class="small muted">${user.email}</span>
            ${isOwn && html`<${Badge} kind="green">you<//>`}${user.disabled && html`<${Badge} kind="red">disabled<//>`}
            ${inAll !== "none" && html`<${Badge}>${inAll} in all projects<//>`}</div>
            <p class="small muted">${user.last_login ? `last login: ${agoText(user.last_login)}` : "never logged in"}${identities.map((one) => html`; <span title=${`${one.subject}, since ${fullTime(one.since)}`}>through ${one.issuer}</span>`)}</p></div>
        <div class="buttons end"><select aria-label=${`Role of ${user.email} in ${project}`} value=${roleIn(project)} onChange=${setRole}>
            ${[["none"], ...ROLES].map(([role]) => html`<option key=${role} value=${role} selected=${role === roleIn(project)}>${role === "none" ? "no role" : role}</option>`)}</select>
        ${isTop && html`<${Menu} name=${`More for ${user.email}`} icon="more" plain side="right" class="button ghost square" items=${items} />`}</div>
    </li>`;
}

/** @param {{project: string}} props */
export function Users({ project }) {
    const now = useStore(login);
    const own = now.state === "in" ? now.session.user : undefined;
    // Whether a token is of all projects is not known; then the server says it.
    const isTop = !own || !!own.admin;
    const [isAsked, setAsked] = useState(false);
    const [removed, setRemoved] = useState(/** @type {User | null} */ (null));
    const [detached, setDetached] = useState(/** @type {User | null} */ (null));
    const [link, setLink] = useState(/** @type {Link | null} */ (null));
    const { data, error, reload } = useLoad(`users/${project}`, (signal) => get("/users", {}, signal));
    if (error && !data) return html`<${Failure} error=${error} retry=${reload} />`;
    if (!data) return html`<${Skeleton} rows=${4} />`;
    const remove = async () => {
        await request("DELETE", `/users/${removed?.id}`);
        toast(`${removed?.email} is removed`);
        changed("users/");
    };
    const detach = async () => {
        await request("DELETE", `/users/${detached?.id}/identities`);
        toast(`${detached?.email} is detached`);
        changed("users/");
    };
    return html`
        <p><button type="button" class="button primary" onClick=${() => setAsked(true)}>Invite somebody</button></p>
        ${link && html`<${Once} secret=${link.url} name="The link" close=${() => setLink(null)}>${link.what} is made.<//>`}
        ${data.users.length === 0 && html`<p class="muted">No user yet.</p>`}
        <ul class="rows">${data.users.map((/** @type {User} */ user) => html`<${Row} key=${user.id} user=${user} project=${project} isTop=${isTop}
            isOwn=${user.id === own?.id} link=${setLink} remove=${() => setRemoved(user)} detach=${() => setDetached(user)} />`)}</ul>
        ${isAsked && html`<${InviteDialog} project=${project} isTop=${isTop} close=${() => setAsked(false)} done=${setLink} />`}
        ${removed && html`<${FormDialog} title=${`Remove ${removed.email}?`} text="Remove" danger send=${remove} close=${() => setRemoved(null)}>
            <p>The account and its sessions end. What the user did to issues stays in their activity.</p><//>`}
        ${detached && html`<${FormDialog} title=${`Detach ${detached.email} from the provider?`} text="Detach" danger send=${detach} close=${() => setDetached(null)}>
            <p>Sessions that began there end. Whoever logs in there next with this address, which the provider has verified, is this user again.</p><//>`}`;
}
