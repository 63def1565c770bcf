/** Logging in: with e-mail address and password, or with a token that is pasted. */
import { html, useState } from "../lib/preact.js";
import { go } from "../lib/router.js";
import { logIn } from "../lib/session.js";

/** @param {{error: string}} props */
function LoginError({ error }) {
    return html`<p class="form-error" role="alert">${error}</p>`;
}

/** @param {{submit: (how: any) => void, isBusy: boolean}} props */
function PasswordForm({ submit, isBusy }) {
    const [email, setEmail] = useState("");
    const [password, setPassword] = useState("");
    return html`<form class="form" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), submit({ email, password }))}>
        <label class="field"><span>E-mail address</span>
            <input type="email" name="email" autocomplete="username" required value=${email} onInput=${(/** @type {any} */ e) => setEmail(e.target.value)} />
        </label>
        <label class="field"><span>Password</span>
            <input type="password" name="password" autocomplete="current-password" required value=${password}
                onInput=${(/** @type {any} */ e) => setPassword(e.target.value)} />
        </label>
        <button class="button primary" disabled=${isBusy}>Log in</button>
    </form>`;
}

/** @param {{submit: (how: any) => void, isBusy: boolean}} props */
function TokenForm({ submit, isBusy }) {
    const [token, setToken] = useState("");
    return html`<form class="form" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), submit({ token: token.trim() }))}>
        <label class="field"><span>Token</span>
            <input type="password" name="token" autocomplete="off" spellcheck="false" required value=${token}
                onInput=${(/** @type {any} */ e) => setToken(e.target.value)} aria-describedby="token-help" />
        </label>
        <p class="small muted" id="token-help">One with the scope <code>read</code> or more. The server wrote an admin
            token to <code>credentials.json</code> in its data folder when it first started; <code>framezero token create</code> makes others.</p>
        <button class="button primary" disabled=${isBusy}>Log in</button>
    </form>`;
}

/** @param {{ways: import("../lib/types.js").LoginWays, next: string}} props next: where to go then */
export function LoginScreen({ ways, next }) {
    const hasPassword = ways.login.includes("password");
    const [useToken, setUseToken] = useState(!hasPassword || ways.setup);
    const [error, setError] = useState(ways.oidc?.error);
    const [isBusy, setBusy] = useState(false);
    /** @param {any} how */
    const submit = async (how) => {
        setBusy(true);
        setError("");
        try {
            await logIn(how);
            go(next, { replace: true });
        } catch (failure) {
            setError(/** @type {Error} */ (failure).message);
        }
        setBusy(false);
    };
    return html`<main class="login" id="main" tabindex="-1">
        <h1>framezero</h1>
        ${ways.setup && html`<p>There is no user yet. Open the setup link that the server printed when it first
            started; it is also in <code>credentials.json</code>, as <code>setup_url</code>. It works for 30 minutes; after that,
            <code>framezero user invite --email ADDRESS --role admin --project '*'</code> makes another one.</p>`}
        ${ways.oidc && html`<a class="button" href=${"/api/v1/session/oidc?next=" + encodeURIComponent(next)}>Log in with ${ways.oidc.name}</a>`}
        ${useToken ? html`<${TokenForm} submit=${submit} isBusy=${isBusy} />` : html`<${PasswordForm} submit=${submit} isBusy=${isBusy} />`}
        ${error && html`<${LoginError} error=${error} />`}
        ${hasPassword && !ways.setup && html`<button type="button" class="button ghost" onClick=${() => (setUseToken(!useToken), setError(""))}>
            ${useToken ? "Log in with a password" : "Paste a token instead"}</button>`}
    </main>`;
}
