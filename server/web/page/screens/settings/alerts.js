/** Channels of alerts: which there are, whether they work, and what went through them. */
import { html, useRef, useState } from "../../lib/preact.js";
import { patch, post, get, request } from "../../lib/api.js";
import { changed, useLoad } from "../../lib/load.js";
import { agoText, fullTime } from "../../lib/time.js";
import { Once } from "./users.js";
import { Badge } from "../../ui/badge.js";
import { Field, FormDialog, Select, attempt } from "../../ui/form.js";
import { Menu } from "../../ui/menu.js";
import { QueryBox } from "../../ui/query_box.js";
import { Failure, Skeleton } from "../../ui/state.js";
import { toast } from "../../ui/toast.js";

/**
 * @typedef {{id: number, name: string, kind: string, url?: string, to?: string[], query: string, events: string[], per_hour: number,
 *   enabled: boolean, why_disabled?: string, delivered?: string, failing_since?: string, secret?: string}} Channel
 */

/** @type {Record<string, {text: string, help: string}>} */
export const KINDS = {
    webhook: { text: "Webhook", help: "that takes signed messages" },
    slack: { text: "Slack", help: "of an incoming webhook" },
    mattermost: { text: "Mattermost", help: "of an incoming webhook" },
    discord: { text: "Discord", help: "of a webhook of the channel" },
    teams: { text: "Teams", help: "of the workflow “When a Teams webhook request is received”" },
    mail: { text: "Mail", help: "" },
};
const EVENTS = {
    "issue.created": "a new issue", "issue.regressed": "a resolved issue is back", "issue.urgent": "an issue that hits many",
    "issue.unmuted": "an issue is not ignored any more", "symbols.missing": "dSYMs are missing", "release.unhealthy": "a version crashes too often",
    "ingest.limited": "a quota is used up", "channel.failing": "another channel fails",
};

/** @param {{channel: Channel | null, close: () => void, done: (channel: Channel) => void}} props channel: null for a new one */
function ChannelDialog({ channel, close, done }) {
    const [kind, setKind] = useState(channel?.kind ?? "webhook");
    const [name, setName] = useState(channel?.name ?? "");
    const [target, setTarget] = useState(channel?.to?.join(", ") ?? "");
    const [query, setQuery] = useState(channel?.query ?? "");
    const [events, setEvents] = useState(new Set(channel?.events ?? Object.keys(EVENTS)));
    const [perHour, setPerHour] = useState(String(channel?.per_hour ?? 30));
    const [wrong, setWrong] = useState(/** @type {any} */ (null));
    const input = useRef(/** @type {HTMLInputElement | null} */ (null));
    const isMail = kind === "mail";
    const toggle = (/** @type {string} */ one) => {
        const next = new Set(events);
        if (!next.delete(one)) next.add(one);
        setEvents(next);
    };
    const send = async () => {
        const to = isMail ? { to: target.split(/[\s,;]+/).filter(Boolean) } : target.trim() ? { url: target.trim() } : {};
        const body = { ...(name.trim() && { name: name.trim() }), ...to, query: query.trim(), events: [...events], per_hour: Number(perHour) };
        try {
            done(await (channel ? patch(`/channels/${channel.id}`, body) : post("/channels", { kind, ...body })));
        } catch (error) {
            const { detail } = /** @type {any} */ (error);
            const isQuery = typeof detail?.offset === "number";
            setWrong(isQuery ? error : null);
            // The box says it then.
            throw isQuery ? new Error("") : error;
        }
    };
    return html`<${FormDialog} wide title=${channel ? `Change ${channel.name}` : "New channel"} text=${channel ? "Save" : "Make it"} send=${send} disabled=${!events.size} close=${close}>
        ${!channel && html`<${Select} label="Kind" value=${kind} set=${setKind} options=${Object.entries(KINDS).map(([one, { text }]) => [one, text])} />`}
        <${Field} label="Name" maxlength="100" autocomplete="off" placeholder=${KINDS[kind].text} value=${name} set=${setName} />
        ${isMail
            ? html`<${Field} key="to" label="Addresses, with commas between them" required autocomplete="off" value=${target} set=${setTarget} />`
            : html`<${Field} key="url" label=${channel ? `URL: empty keeps that at ${channel.url}` : `URL ${KINDS[kind].help}`} type="url" required=${!channel}
                autocomplete="off" placeholder="https://" value=${target} set=${setTarget} />`}
        <div class="field"><span>Only issues that this query finds</span>
            <${QueryBox} value=${query} run=${setQuery} change=${(/** @type {string} */ text) => text !== query && (setQuery(text), setWrong(null))}
                error=${wrong} inputRef=${input} placeholder="all; for example version:>=4.2 -environment:beta" /></div>
        <fieldset class="choices"><legend>Events</legend>${Object.entries(EVENTS).map(([one, text]) => html`<label key=${one} class="choice">
            <input type="checkbox" checked=${events.has(one)} onChange=${() => toggle(one)} /><span>${text} <code class="muted">${one}</code></span></label>`)}</fieldset>
        <${Field} label="Single messages in any hour, at most; what exceeds comes as a digest (0: no limit)" type="number" min="0" max="3600" required value=${perHour} set=${setPerHour} />
    <//>`;
}

/**
 * @typedef {{n: number, at: string, took_ms: number, result: string, status?: number, error?: string, answer?: string}} Attempt
 * @typedef {{id: number, type: string, state: string, at: string, next_attempt?: string, attempts: Attempt[]}} Delivery
 */

const SHOWN = 50;
/** @type {Record<string, "green" | "red" | "amber">} */
const COLOURS = { delivered: "green", failed: "red", waiting: "amber" };

/** What came of an attempt. @param {{result: string, status?: number, took_ms: number, error?: string}} one */
function outcome({ result, status, took_ms, error }) {
    return `${error ?? (status ? `answered with status ${status}` : result)}, after ${took_ms} ms`;
}

/** @param {{id: number}} props */
function Deliveries({ id }) {
    const path = `/channels/${id}/deliveries`;
    const { data, error, reload } = useLoad(path, (signal) => get(path, { limit: SHOWN }, signal));
    if (error && !data) return html`<${Failure} error=${error} retry=${reload} />`;
    if (!data) return html`<${Skeleton} />`;
    const resend = (/** @type {Delivery} */ one) => attempt(() => post(`${path}/${one.id}/resend`), "It is sent again").then(() => changed(path));
    return html`<div class="panel">
        ${data.deliveries.length === 0 && html`<p class="muted">Nothing was sent yet.</p>`}
        <ul>${data.deliveries.map((/** @type {Delivery} */ one) => html`<li key=${one.id} class="file">
            <div class="file-main"><div class="file-line"><b>${one.type}</b><${Badge} kind=${COLOURS[one.state] ?? "grey"}>${one.state}<//>
                <span class="small muted">${fullTime(one.at)}</span></div>
                ${one.attempts.map((/** @type {Attempt} */ each) => html`<p key=${each.n} class="small muted" title=${each.answer}>attempt ${each.n}: ${outcome(each)}</p>`)}
                ${one.next_attempt && one.attempts.length > 0 && html`<p class="small">next attempt: ${fullTime(one.next_attempt)}</p>`}</div>
            ${["delivered", "failed"].includes(one.state) && html`<button type="button" class="button small" aria-label=${`Send again: ${one.type}, ${fullTime(one.at)}`}
                onClick=${() => resend(one)}>Send again</button>`}
        </li>`)}</ul>
        <button type="button" class="button small" onClick=${reload}>Load again</button>
    </div>`;
}

const again = () => changed("channels/");

/** @param {{channel: Channel, ask: (what: string) => void, secret: (text: string) => void}} props */
function Row({ channel, ask, secret }) {
    const [isOpen, setOpen] = useState(false);
    const [result, setResult] = useState(/** @type {any} */ (null));
    const [isBusy, setBusy] = useState(false);
    const { id, name } = channel;
    const test = async () => {
        setBusy(true);
        setResult(await attempt(() => post(`/channels/${id}/test`)));
        setBusy(false);
        again();
    };
    const items = [
        { text: "Change…", run: () => ask("edit") },
        { text: channel.enabled ? "Disable" : "Enable", run: () => attempt(() => patch(`/channels/${id}`, { enabled: !channel.enabled })).then(again) },
        ...(channel.kind === "webhook" ? [{ text: "New secret", run: () => attempt(async () => secret((await post(`/channels/${id}/rotate`)).secret)) }] : []),
        { text: "Delete…", run: () => ask("delete") },
    ];
    return html`<li class="channel">
        <div class="file"><div class="file-main">
            <div class="file-line"><b>${name}</b><span class="small muted">${KINDS[channel.kind]?.text ?? channel.kind}</span>
                ${channel.failing_since && html`<${Badge} kind="red">failing since ${fullTime(channel.failing_since)}<//>`}
                ${!channel.enabled && html`<${Badge} title=${channel.why_disabled}>disabled<//>`}</div>
            <p class="small muted">${channel.url ?? channel.to?.join(", ")}${channel.delivered && `; last delivered: ${agoText(channel.delivered)}`}</p>
            ${channel.query && html`<p class="small">only <code>${channel.query}</code></p>`}
            ${!channel.enabled && channel.why_disabled && html`<p class="small">${channel.why_disabled}</p>`}
            ${result && html`<p class="small" role="status"><${Badge} kind=${result.delivered ? "green" : "red"}>${result.delivered ? "delivered" : "not delivered"}<//> ${outcome(result)}</p>`}
        </div>
        <div class="buttons end">
            <button type="button" class="button small" disabled=${isBusy} aria-label=${`Test ${name}`} onClick=${test}>${isBusy ? "…" : "Test"}</button>
            <button type="button" class="button small" aria-expanded=${String(isOpen)} aria-label=${`Log of ${name}`} onClick=${() => setOpen(!isOpen)}>Log</button>
            <${Menu} name=${`More for ${name}`} icon="more" plain side="right" class="button ghost square small" items=${items} />
        </div></div>
        ${isOpen && html`<${Deliveries} id=${id} />`}
    </li>`;
}

/** @param {{project: string}} props */
export function Alerts({ project }) {
    const [asked, setAsked] = useState(/** @type {{what: string, channel: Channel | null} | null} */ (null));
    const [secret, setSecret] = useState({ text: "", note: "" });
    const { data, error, reload } = useLoad(`channels/${project}`, (signal) => get("/channels", {}, signal));
    if (error && !data) return html`<${Failure} error=${error} retry=${reload} />`;
    if (!data) return html`<${Skeleton} />`;
    const close = () => setAsked(null);
    const saved = (/** @type {Channel} */ channel) => {
        if (channel.secret) setSecret({ text: channel.secret, note: "" });
        toast(`${channel.name} is saved`);
        again();
    };
    const remove = async () => {
        await request("DELETE", `/channels/${asked?.channel?.id}`);
        again();
    };
    return html`
        <p class="muted">A channel gets what happens: new issues, issues that are back, missing dSYMs. Values of variables are never part of a message.</p>
        <p><button type="button" class="button primary" onClick=${() => setAsked({ what: "edit", channel: null })}>New channel</button></p>
        ${secret.text && html`<${Once} secret=${secret.text} name="The secret" close=${() => setSecret({ text: "", note: "" })}>The receiver checks signatures
            with this secret.${secret.note}<//>`}
        ${data.channels.length === 0 && html`<p class="muted">No channel yet.</p>`}
        <ul class="rows">${data.channels.map((/** @type {Channel} */ one) => html`<${Row} key=${one.id} channel=${one}
            secret=${(/** @type {string} */ text) => setSecret({ text, note: " For 24 hours messages are also signed with the one before." })}
            ask=${(/** @type {string} */ what) => setAsked({ what, channel: one })} />`)}</ul>
        ${asked?.what === "edit" && html`<${ChannelDialog} channel=${asked.channel} close=${close} done=${saved} />`}
        ${asked?.what === "delete" && html`<${FormDialog} title=${`Delete ${asked.channel?.name}?`} text="Delete" danger send=${remove} close=${close}>
            <p>Its log goes with it, and what waits is not sent.</p><//>`}`;
}
