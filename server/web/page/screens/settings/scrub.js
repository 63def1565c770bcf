/** Personal data and secrets in texts of reports: what is masked, rules of the project, and what they would mask in reports that are there. */
import { html, useState } from "../../lib/preact.js";
import { post, request } from "../../lib/api.js";
import { count, number } from "../../lib/format.js";
import { changed } from "../../lib/load.js";
import { pathTo } from "../../lib/router.js";
import { attempt, cleanLines, Form, Lines } from "../../ui/form.js";
import { toast } from "../../ui/toast.js";

/**
 * @typedef {{report: string, before: string, after: string}} Example
 * @typedef {{reports: number, changed: number, masked: Record<string, number>, examples: Example[]}} Preview
 */

/** @param {{preview: Preview, project: string}} props */
function Masked({ preview, project }) {
    const kinds = Object.entries(preview.masked);
    return html`<div class="panel" role="status">
        <p>${preview.changed
            ? html`<b>${number(preview.changed)} of the newest ${count(preview.reports, "report")}</b> would have more masked: ${kinds.map(([kind, n]) => `${number(n)} × ${kind}`).join(", ")}.`
            : `Nothing more would be masked in the newest ${count(preview.reports, "report")}.`}</p>
        <ul class="examples" aria-label="Examples">${preview.examples.map((one, i) => html`<li key=${i}><code>${one.before}</code> <span class="muted">becomes</span> <code>${one.after}</code>
            ${" "}<a class="small" href=${pathTo(project, "reports", one.report)}>report</a></li>`)}</ul>
    </div>`;
}

/** @param {{settings: {scrub: string, scrub_rules: string[]}, project: string}} props */
export function ScrubForm({ settings, project }) {
    const [isOn, setOn] = useState(settings.scrub !== "off");
    const [rules, setRules] = useState(settings.scrub_rules);
    const [preview, setPreview] = useState(/** @type {Preview | null} */ (null));
    const look = () => attempt(async () => setPreview(await post("/scrubbing/preview", { scrub_rules: cleanLines(rules) })));
    const send = async () => {
        await request("PUT", "/project", { body: { scrub: isOn ? "on" : "off", scrub_rules: cleanLines(rules) } });
        changed(`project/${project}`);
        toast("They count for reports that are processed from now on");
    };
    const edit = (/** @type {string[]} */ list) => (setRules(list), setPreview(null));
    return html`<${Form} text="Use these rules" send=${send}>
        <div><label class="check"><input type="checkbox" checked=${isOn} onChange=${(/** @type {any} */ event) => setOn(event.target.checked)} />
                <span>Mask personal data and secrets in texts of reports</span></label>
            <p class="small muted">E-mail addresses, names of users and devices, tokens and the like become marks such as <code>[email]</code> before a report is stored.</p></div>
        ${isOn && html`<${Lines} label="Rules, one on each line" help=${"text:order-*\nkey:customer_*\nkeep:session_id\noff:phone\non:user_id"} list=${rules} set=${edit} />
            <p class="small muted"><code>text:</code> masks words of texts, <code>key:</code> values of members with the name, <code>keep:</code> leaves values as they are,
                <code>off:</code> and <code>on:</code> are for kinds: email, user, device, ip, phone, card, iban, token, secret, user_id.</p>
            <div class="buttons"><button type="button" class="button" onClick=${look}>Preview</button></div>
            ${preview && html`<${Masked} preview=${preview} project=${project} />`}`}
    <//>`;
}
