/** Who is logged in, and what they may do. */
import { ApiError, get, onDenied, request } from "./api.js";
import { createStore, movePref } from "./store.js";

/**
 * @typedef {import("./types.js").Session} Session
 * @typedef {import("./types.js").LoginWays} LoginWays
 * @typedef {{state: "asking"} | {state: "in", session: Session} | {state: "out", ways: LoginWays, why: string}
 *   | {state: "failed", error: Error}} Login
 */

const UNKNOWN_WAYS = { login: ["token"], setup: false };

/** @type {ReturnType<typeof createStore<Login>>} */
export const login = createStore(/** @type {Login} */ ({ state: "asking" }));

/** @param {ApiError} error */
function leave(error) {
    login.set({ state: "out", ways: error.detail?.login ? error.detail : UNKNOWN_WAYS, why: error.message });
}

/** Ask the server who is logged in. @param {Promise<any>} [together] what is waited for before that is shown to them */
export async function readSession(together) {
    try {
        const session = await get("/session");
        await together;
        login.set({ state: "in", session });
    } catch (error) {
        if (error instanceof ApiError && error.status === 401) leave(error);
        else login.set({ state: "failed", error: /** @type {Error} */ (error) });
    }
}

/** A request was refused: the session has ended, or was ended. */
onDenied(() => {
    if (login.get().state === "in") readSession();
});

/**
 * Throws an ApiError if the server refuses it.
 * @param {{token: string} | {email: string, password: string}} how
 */
export async function logIn(how) {
    login.set({ state: "in", session: await request("POST", "/session", { body: how }) });
}

/**
 * Use a one-time link, and be logged in.
 * @param {string} path @param {Record<string, string>} values
 */
export async function followLink(path, values) {
    const session = await request("POST", path, { body: values });
    if (session?.projects) login.set({ state: "in", session });
    else await readSession();
}

export async function logOut() {
    try {
        await request("DELETE", "/session");
    } catch (error) {
        // It has ended already.
        if (!(error instanceof ApiError) || error.status !== 401) throw error;
    }
    await readSession();
}

/**
 * May the one who is logged in do what needs this role in the project?
 * @param {string} project
 * @param {"viewer"|"member"|"admin"} role
 */
export function may(project, role) {
    const now = login.get();
    const order = ["viewer", "member", "admin"];
    const own = now.state === "in" && now.session.projects.find((one) => one.name === project);
    return !!own && order.indexOf(own.role) >= order.indexOf(role);
}

/**
 * Under which key this browser keeps something of a project: by its number, since its name may change.
 * @param {string} what @param {string} project
 */
export function prefOf(what, project) {
    const now = login.get();
    const id = now.state === "in" ? now.session.projects.find((one) => one.name === project)?.id : undefined;
    if (id === undefined) return `${what}.${project}`;
    // A name has no "#".
    const key = `${what}.#${id}`;
    movePref(`${what}.${project}`, key);
    return key;
}
