/** What a screen asks for, from its address alone: early.js asks for it before the screen is there. */
import { words } from "./query.js";

export const PAGE = 100;

/** What is listed where the address names no query. */
const DEFAULT_QUERY = "is:open";

/** The list of issues. @param {Record<string, string>} query of the address */
export function askedIssues({ query = DEFAULT_QUERY, since, until, sort = "users" }) {
    return { filter: { query, since, until }, sort };
}

// Conditions about issues choose what is in the list; in an issue only those about reports change a number.
const OF_ISSUES = /^[-!]?(is|has|issue|assignee|assigned|first_seen|last_seen|seen):/i;

/** One issue. @param {Record<string, string>} query of the address @returns conditions: those about reports */
export function askedIssue({ query = "", since, until }) {
    const conditions = words(query).filter((word) => !OF_ISSUES.test(word));
    return { conditions, filter: { query: conditions.join(" ") || undefined, since, until } };
}
