/**
 * Which screen the address names. Everything that a person would share is in the URL:
 *
 *     /p/shop/issues/12?query=version%3A4.2&since=14d&report=8c1f…
 */

/**
 * @typedef {{path: string, screen: string, project: string, item: string, part: string, query: Record<string, string>,
 *   hash: string}} Route
 */

/** @param {string} text */
function decode(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}

/** @param {{pathname: string, search: string, hash: string}} at @returns {Route} */
export function parseRoute(at) {
    const [, first = "", ...rest] = at.pathname.split("/").map(decode);
    const query = Object.fromEntries(new URLSearchParams(at.search));
    const common = { path: at.pathname, query, hash: at.hash.slice(1) };
    if (first !== "p") return { ...common, screen: first || "home", project: "", item: "", part: "" };
    const [project = "", screen = "", item = "", part = ""] = rest;
    return { ...common, screen: screen || "issues", project, item, part };
}

/** @param {...(string | number)} parts after /p; the query comes from queryText() */
export const pathTo = (...parts) => ["/p", ...parts].map((part, i) => (i ? encodeURIComponent(part) : part)).join("/");

/** "?a=1&b=2"; what is undefined is left out. @param {Record<string, any>} query */
export function queryText(query) {
    const kept = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const text = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
    return text && `?${text}`;
}
