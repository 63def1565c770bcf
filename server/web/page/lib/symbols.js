/** Symbol files in words: what one is good for, how to find one, and how to send it. */

/** @typedef {import("./types.js").SymbolFile} SymbolFile */

/** "4C4C442E-5555-…" as Xcode and Spotlight write it. @param {string} uuid */
export function dashed(uuid) {
    const parts = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/i.exec(uuid);
    return parts ? parts.slice(1).join("-").toUpperCase() : uuid;
}

/** A word of a shell command: names of projects and images come from outside. @param {string} text */
const shellWord = (text) => (/^[\w.@%+:/-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);

/**
 * The commands that find a dSYM on a Mac and send it here.
 * @param {{origin: string, project: string, uuid: string}} what
 */
export function commandsFor({ origin, project, uuid }) {
    const find = `mdfind "com_apple_xcode_dsym_uuids == ${dashed(uuid)}"`;
    const where = `--server ${origin} --project ${shellWord(project)}`;
    return {
        find,
        upload: `framezero upload ${where} --token "$FRAMEZERO_TOKEN" PATH`,
        both: `${find} | head -1 | tr '\\n' '\\0' | xargs -0 framezero upload ${where} --token "$FRAMEZERO_TOKEN"`,
        curl: `curl --fail-with-body -H "Authorization: Bearer $FRAMEZERO_TOKEN" --data-binary @App.dSYM.zip ${shellWord(`${origin}/api/v1/symbols?project=${encodeURIComponent(project)}`)}`,
    };
}

/** @type {Record<string, string>} */
const KINDS = { dsym: "dSYM", binary: "binary", bcsymbolmap: "BCSymbolMap" };
/** @param {string} kind */
export const fileKind = (kind) => KINDS[kind] ?? kind;

/** What the file gives, in a few words. @param {SymbolFile} file */
export function featureText({ features = {}, kind }) {
    const has = [
        features.dwarf || features.symtab || features.functions ? "functions" : "",
        features.lines && "files and lines", features.inlines && "inlined calls", features.variables && "variables", features.unwind && "unwind data",
    ].filter(Boolean);
    return has.length ? has.join(", ") : kind === "bcsymbolmap" ? "names of a bitcode build" : "nothing of use";
}

/** @type {Record<string, {text: string, kind: "green"|"amber"|"red"|"grey"|"blue"}>} */
const VERDICTS = {
    ok: { text: "complete", kind: "green" },
    symbols_only: { text: "names only", kind: "amber" },
    no_dwarf: { text: "no debug information", kind: "red" },
    no_lines: { text: "no lines", kind: "amber" },
    hidden_names: { text: "hidden names", kind: "amber" },
    truncated: { text: "incomplete", kind: "red" },
    not_linked: { text: "not linked", kind: "red" },
    encrypted: { text: "encrypted", kind: "red" },
    unusable: { text: "cannot be used", kind: "red" },
    map: { text: "map kept", kind: "green" },
};

/** What a file is worth; the list of files has no verdict, so it is told from what is in it. @param {SymbolFile} file */
export function verdictOf(file) {
    const { verdict, state, kind, features = {} } = file;
    if (verdict) return VERDICTS[verdict.code] ?? { text: verdict.code, kind: "grey" };
    if (state === "queued") return { text: "is being read", kind: "blue" };
    if (state === "failed") return VERDICTS.unusable;
    if (kind === "bcsymbolmap") return VERDICTS.map;
    if (features.dwarf) return features.lines ? VERDICTS.ok : VERDICTS.no_lines;
    return kind === "binary" ? VERDICTS.symbols_only : VERDICTS.no_dwarf;
}
