/** What the one-time links open: the first user (/setup), an invitation (/invite), a new password (/reset). */
import { html, useState } from "../lib/preact.js";
import { go } from "../lib/router.js";
import { followLink } from "../lib/session.js";

const LONG_ENOUGH = 10;

/** @type {Record<string, {title: string, text: string, path: string, fields: string[], button: string}>} */
export const LINKS = {
    setup: {
        title: "Welcome to framezero", text: "You are the first user, and an admin of all projects.", path: "/setup",
        fields: ["email", "name", "password"], button: "Create the user",
    },
    invite: {
        title: "You are invited", text: "Choose a name and a password.", path: "/invitations/accept",
        fields: ["name", "password"], button: "Join",
    },
    reset: { title: "A new password", text: "It replaces the one that you have.", path: "/reset", fields: ["password"], button: "Set the password" },
};

/** @param {{screen: string, token: string}} props token: what follows # in the link */
export function LinkScreen({ screen, token }) {
    const link = LINKS[screen];
    const [values, setValues] = useState(/** @type {Record<string, string>} */ ({}));
    const [error, setError] = useState("");
    const [isBusy, setBusy] = useState(false);
    const has = (/** @type {string} */ name) => link.fields.includes(name);
    const input = (/** @type {string} */ name) => ({
        name, value: values[name] ?? "", onInput: (/** @type {any} */ event) => setValues({ ...values, [name]: event.target.value }),
    });
    const submit = async (/** @type {Event} */ event) => {
        event.preventDefault();
        setBusy(true);
        setError("");
        try {
            await followLink(link.path, { token, ...Object.fromEntries(link.fields.map((name) => [name, values[name] ?? ""])) });
            go("/", { replace: true });
        } catch (failure) {
            setError(/** @type {Error} */ (failure).message);
            setBusy(false);
        }
    };
    return html`<main class="login" id="main" tabindex="-1">
        <h1>${link.title}</h1>
        <p>${token ? link.text : "The link is not complete: open it as you got it, with everything after the #."}</p>
        ${token && html`<form class="form" onSubmit=${submit}>
            ${has("email") && html`<label class="field"><span>E-mail address</span><input type="email" autocomplete="username" required ...${input("email")} /></label>`}
            ${has("name") && html`<label class="field"><span>Name</span><input type="text" autocomplete="name" required maxlength="100" ...${input("name")} /></label>`}
            <label class="field"><span>Password</span><input type="password" autocomplete="new-password" required minlength=${LONG_ENOUGH}
                aria-describedby="password-help" ...${input("password")} /></label>
            <p class="small muted" id="password-help">At least ${LONG_ENOUGH} characters; no other rules.</p>
            <button class="button primary" disabled=${isBusy}>${link.button}</button>
        </form>`}
        ${error && html`<p class="form-error" role="alert">${error}</p>`}
    </main>`;
}
