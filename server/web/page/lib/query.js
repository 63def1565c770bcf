/** Editing texts of the query language (docs/query.md): the server reads them, the page only adds and removes words. */

/** A value as it is written after a key. @param {string} value */
export function quote(value) {
    return /^[\w.+@/-]+$/.test(value) && !/^[-<>=!]/.test(value) ? value : `"${value.replace(/[\\"]/g, "\\$&")}"`;
}

/** The words of a query; quotes hold blanks together. @param {string} text @returns {string[]} */
export function words(text) {
    return text.match(/(?:"(?:\\.|[^"\\])*"?|\\.|[^\s"\\])+/g) ?? [];
}

/** @param {string} text @param {string} key @param {string} value */
export function withWord(text, key, value) {
    const word = `${key}:${quote(value)}`;
    const all = words(text);
    return (all.includes(word) ? all : [...all, word]).join(" ");
}

/** Without all words of a key. @param {string} text @param {string} key */
function withoutKey(text, key) {
    return words(text).filter((word) => !word.toLowerCase().startsWith(`${key}:`)).join(" ");
}

/** In place of all words of a key. @param {string} text @param {string} key @param {string} word whole, or "" */
export function replaceKey(text, key, word) {
    return [word, withoutKey(text, key)].filter(Boolean).join(" ");
}
