/**
 * The API of this server: the only module that calls fetch().
 *
 * Requests name the project that the page shows. A GET that the network or a server that is just starting broke off is sent
 * again; anything else fails with an ApiError, whose message is the server's own text.
 */
const TIMEOUT_MS = 30000;
const RETRY_AFTER_MS = [300, 1500];

export class ApiError extends Error {
    /**
     * @param {number} status 0: no answer came
     * @param {string} message
     * @param {{code?: string, detail?: any, requestId?: string}} [more]
     */
    constructor(status, message, { code = "", detail, requestId = "" } = {}) {
        super(message);
        this.status = status;
        this.code = code;
        this.detail = detail;
        this.requestId = requestId;
    }
}

/** @type {{project: string, onDenied: (error: ApiError) => void}} */
const state = { project: "", onDenied: () => {} };

/** Which project requests are for from now on; true if this is another one. @param {string} name */
export function setProject(name) {
    const was = state.project;
    state.project = name;
    return was !== name;
}

/** What is done when nobody is logged in any more. @param {(error: ApiError) => void} call */
export function onDenied(call) {
    state.onDenied = call;
}

/**
 * @param {string} path below /api/v1
 * @param {Record<string, any>} [query] what is undefined, null or "" is left out
 */
function apiUrl(path, query = {}) {
    const all = new URLSearchParams();
    for (const [name, value] of Object.entries({ ...(state.project && { project: state.project }), ...query })) {
        if (value !== undefined && value !== null && value !== "") all.append(name, String(value));
    }
    const text = all.toString();
    return `/api/v1${path}${text && "?"}${text}`;
}

/** A stream of what changes in the project; the one that there is, if it is for that. @param {EventSource | null} was */
export function openEvents(was) {
    const { href } = new URL(apiUrl("/events"), location.href);
    return was?.url === href ? was : new EventSource(href);
}

/** @param {Response} response */
async function readError(response) {
    const requestId = response.headers.get("X-Request-Id") ?? "";
    try {
        const { error } = await response.json();
        return new ApiError(response.status, error.message, { ...error, requestId });
    } catch {
        return new ApiError(response.status, `the server answered ${response.status} ${response.statusText}`, { requestId });
    }
}

/** @param {number} ms @param {AbortSignal} [signal] */
function wait(ms, signal) {
    return new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, ms);
        signal?.addEventListener("abort", () => {
            clearTimeout(timer);
            reject(signal.reason);
        });
    });
}

/** @param {string} url @param {RequestInit} init @param {AbortSignal} [signal] */
async function send(url, init, signal) {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const both = signal ? AbortSignal.any([signal, timeout]) : timeout;
    try {
        return await fetch(url, { ...init, signal: both, credentials: "same-origin" });
    } catch (error) {
        if (signal?.aborted) throw error;
        const why = timeout.aborted ? `the server did not answer within ${TIMEOUT_MS / 1000} seconds` : "the server cannot be reached";
        throw new ApiError(0, `${why}; try again`);
    }
}

/** @param {string} url @param {RequestInit} init @param {AbortSignal} [signal] */
async function sendAgain(url, init, signal) {
    const mayRetry = (init.method ?? "GET") === "GET";
    for (let attempt = 0; ; attempt++) {
        const isLast = !mayRetry || attempt === RETRY_AFTER_MS.length;
        try {
            const response = await send(url, init, signal);
            if (isLast || response.status !== 503) return response;
        } catch (error) {
            if (isLast || !(error instanceof ApiError)) throw error;
        }
        await wait(RETRY_AFTER_MS[attempt], signal);
    }
}

/** @type {Map<string, Promise<Response>>} GETs that were sent before anybody wanted their answers */
const ahead = new Map();

/** Send a GET whose answer the first request for the same gets. @param {string} path below /api/v1 @param {Record<string, any>} [query] */
export function askAhead(path, query) {
    const answer = sendAgain(apiUrl(path, query), { headers: { Accept: "application/json" } });
    ahead.set(apiUrl(path, query), answer);
    answer.catch(() => {});
}

/**
 * @param {string} method
 * @param {string} path below /api/v1
 * @param {{query?: Record<string, any>, body?: any, signal?: AbortSignal, text?: boolean}} [how] body: a Blob is sent as it is
 * @returns {Promise<any>} the answer's JSON; null without one
 */
export async function request(method, path, { query, body, signal, text } = {}) {
    /** @type {Record<string, string>} */
    const headers = text ? {} : { Accept: "application/json" };
    const [isFile, url] = [body instanceof Blob, apiUrl(path, query)];
    if (body !== undefined) headers["Content-Type"] = isFile ? "application/octet-stream" : "application/json";
    const init = { method, headers, body: body === undefined || isFile ? body : JSON.stringify(body) };
    // Once, and only until something is changed.
    const asked = method === "GET" && ahead.get(url);
    if (method === "GET") ahead.delete(url);
    else ahead.clear();
    const response = await (asked || sendAgain(url, init, signal));
    if (!response.ok) {
        const error = await readError(response);
        if (response.status === 401 && path !== "/session") state.onDenied(error);
        throw error;
    }
    if (text) return response.text();
    return response.status === 204 ? null : response.json();
}

/** @param {string} path @param {Record<string, any>} [query] @param {AbortSignal} [signal] */
export const get = (path, query, signal) => request("GET", path, { query, signal });
/** @param {string} path @param {any} [body] @param {Record<string, any>} [query] */
export const post = (path, body, query) => request("POST", path, { body, query });
/** @param {string} path @param {any} body */
export const patch = (path, body) => request("PATCH", path, { body });

/** A file that is served with the page. @param {string} path below the folder of app.js @returns {Promise<Blob>} */
export async function readAsset(path) {
    const response = await sendAgain(new URL(`../${path}`, import.meta.url).href, {});
    if (!response.ok) throw await readError(response);
    return response.blob();
}

/**
 * Save what a path answers with as a file, under the name that the server gives it.
 * @param {string} path @param {Record<string, any>} query @param {string} [name] if the server gives none
 */
export async function download(path, query, name = "report") {
    const response = await sendAgain(apiUrl(path, query), {});
    if (!response.ok) throw await readError(response);
    const given = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "")?.[1];
    const url = URL.createObjectURL(await response.blob());
    const link = document.createElement("a");
    link.href = url;
    link.download = given ?? name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
}

/**
 * Send a file as it is, and say how much of it is sent (which fetch() cannot). Throws an ApiError.
 * @param {string} path @param {Blob} file @param {Record<string, any>} query
 * @param {{progress: (part: number) => void, signal?: AbortSignal}} how part: of 1
 * @returns {Promise<any>}
 */
export function upload(path, file, query, { progress, signal }) {
    return new Promise((resolve, reject) => {
        const http = new XMLHttpRequest();
        const fail = (/** @type {string} */ text) => () => reject(new ApiError(0, text));
        http.open("POST", apiUrl(path, query));
        http.setRequestHeader("Content-Type", "application/octet-stream");
        http.upload.onprogress = (event) => event.total && progress(event.loaded / event.total);
        http.onerror = fail("the connection broke off; send it again");
        http.onabort = fail("it was stopped");
        http.onload = async () => {
            const response = new Response(http.response, { status: http.status, statusText: http.statusText });
            if (response.ok) return response.json().then(resolve, reject);
            const error = await readError(response);
            if (http.status === 401) state.onDenied(error);
            reject(error);
        };
        signal?.addEventListener("abort", () => http.abort());
        http.send(file);
    });
}
