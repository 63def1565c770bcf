/** A word on a coloured ground, which is a state, and the title of an issue. */
import { html } from "../lib/preact.js";

/** @param {{kind?: "red"|"amber"|"green"|"blue"|"grey", title?: string, children?: any}} props */
export function Badge({ kind = "grey", title, children }) {
    return html`<span class=${`badge ${kind}`} title=${title}>${children}</span>`;
}

const NEW_MS = 7 * 86400e3;

/** Was the issue first seen within the last 7 days? As is:new of the query language. @param {{first_seen: string, state: string}} issue */
const isNew = (issue) => issue.state === "open" && Date.now() - Date.parse(issue.first_seen) < NEW_MS;

/** The states of an issue that are worth a mark; an open one has none. @param {{issue: import("../lib/types.js").Issue}} props */
export function IssueBadges({ issue }) {
    return html`
        ${issue.state === "resolved" && html`<${Badge} kind="green">resolved<//>`}
        ${issue.state === "ignored" && html`<${Badge} kind="grey">ignored<//>`}
        ${issue.regressed && html`<${Badge} kind="red" title="It was resolved and came back">regressed<//>`}
        ${isNew(issue) && !issue.regressed && html`<${Badge} kind="blue" title="First seen in the last 7 days">new<//>`}
        ${issue.kind !== "crash" && html`<${Badge} kind="amber">${issue.kind.replace("_", " ")}<//>`}
        ${issue.placeholder && html`<${Badge} kind="amber" title="Upload the dSYM: Symbols says which one">waits for names<//>`}`;
}

/** "NSRangeException in -[Cart total]" in its two parts; the first is "" without one. @param {string} title */
export function titleParts(title) {
    const found = /^([^([:]*(?:: [^([:]+)?) in (.+)$/.exec(title);
    return found ? { what: found[1], where: found[2] } : { what: "", where: title };
}

/** @param {{title: string}} props */
export function IssueTitle({ title }) {
    const { what, where } = titleParts(title);
    return html`${what && html`<span class="title-what">${what} in </span>`}<span class="title-where">${where}</span>`;
}
