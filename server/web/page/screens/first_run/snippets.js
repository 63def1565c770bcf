/** What to write into an app, with this server's address and an ingest key filled in. */
import { html, useState } from "../../lib/preact.js";
import { post } from "../../lib/api.js";
import { copy } from "../../lib/copy.js";
import { changed } from "../../lib/load.js";
import { may } from "../../lib/session.js";
import { Icon } from "../../ui/icon.js";
import { toastError } from "../../ui/toast.js";

/**
 * In the order in which they are offered; docs/clients.md has more.
 * @type {{name: string, text: string, code: (at: {url: string, host: string, scheme: string, key: string, id: number}) => string}[]}
 */
const CLIENTS = [
    {
        name: "KSCrash", text: "KSCrash 2: reports, and run summaries for crash-free rates.",
        code: ({ url, key }) => `let installation = CrashInstallationStandard.shared\ninstallation.url = URL(string: "${url}/kscrash/${key}")!`,
    },
    {
        name: "Sentry’s SDK", text: "An app that has Sentry’s SDK needs no other: only the DSN changes. Sessions come with it.",
        code: ({ scheme, host, key, id }) => `SentrySDK.start { options in\n    options.dsn = "${scheme}//${key}@${host}/${id}"\n}`,
    },
    {
        name: "Other reporters", text: "PLCrashReporter, MetricKit or your own: send the file as it is.",
        code: ({ url, key }) => `var request = URLRequest(url: URL(string: "${url}/api/v1/reports?key=${key}")!)\nrequest.httpMethod = "POST"\nURLSession.shared.uploadTask(with: request, fromFile: report).resume()`,
    },
    {
        name: "curl", text: "A report that lies on disk: .ips, .crash, JSON, a minidump.",
        code: ({ url, key }) => `curl -H "X-Framezero-Key: ${key}" --data-binary @report.ips "${url}/api/v1/reports?wait=10"`,
    },
    {
        name: "dSYMs", text: "In a build phase or on the build machine, with a token of the scope upload: sends what the server lacks.",
        code: ({ url }) => `framezero upload --server ${url} --token TOKEN "$DWARF_DSYM_FOLDER_PATH"`,
    },
];
const KEY = "INGEST_KEY";

/** @param {{project: string, id: number}} props id: of the project */
export function Snippets({ project, id }) {
    const [chosen, setChosen] = useState(0);
    const [key, setKey] = useState("");
    const client = CLIENTS[chosen];
    // Of a pasted key only what a key may consist of, since it goes into a source text.
    const clean = key.trim().replace(/[^\w-]/g, "");
    const { origin, host, protocol } = location;
    const code = client.code({ url: origin, host, scheme: protocol, key: clean || KEY, id });
    const make = async () => {
        try {
            setKey((await post("/tokens", { label: `${client.name}, made on the page`, scopes: ["ingest"] })).token);
            changed("tokens/");
        } catch (failure) {
            toastError(failure);
        }
    };
    return html`<div class="panel snippets">
        <div class="tabs" role="group" aria-label="Client">${CLIENTS.map((one, i) => html`<button key=${one.name} type="button" class="tab" aria-pressed=${String(i === chosen)} onClick=${() => setChosen(i)}>${one.name}</button>`)}</div>
        <p class="small muted">${client.text}</p>
        <div class="snippet"><pre tabindex="0" role="region" aria-label=${`Snippet for ${client.name}`}><code>${code}</code></pre>
            <button type="button" class="button small" onClick=${() => copy(code, "The snippet")}><${Icon} name="copy" />Copy</button></div>
        ${code.includes(clean || KEY) && html`<label class="field"><span>Ingest key</span>
            <input type="text" autocomplete="off" spellcheck="false" value=${key} placeholder=${KEY} aria-describedby="key-help" onInput=${(/** @type {any} */ event) => setKey(event.target.value)} /></label>
            ${may(project, "admin") && html`<div><button type="button" class="button" disabled=${!!key} onClick=${make}>Make a key</button></div>`}
            <p class="small muted" id="key-help">Pasted here, it is filled in above, and kept nowhere. The first one is in <code>credentials.json</code>;
                a new one is shown only here, so keep it with the app’s source. It can only send reports, so it may be in every copy of the app.</p>`}
    </div>`;
}
