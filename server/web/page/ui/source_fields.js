/** How places in the source become links: a template, where it can begin, and what becomes of an example. */
import { html } from "../lib/preact.js";
import { sourceOf, templateProblem } from "../lib/source.js";
import { Field } from "./form.js";

const onHost = (/** @type {string} */ host, /** @type {string} */ rest) => `https://${host}/OWNER/REPOSITORY/${rest}/v{version}/{path}#L{line}`;
const PRESETS = [["GitHub", onHost("github.com", "blob")], ["GitLab", onHost("gitlab.com", "-/blob")], ["Xcode", "xed --line {line} {path}"]];

/** @param {{setting: import("../lib/source.js").SourceSetting, set: (template: string) => void, none: string, [attribute: string]: any}} props none: what counts without a template */
export function SourceFields({ setting, set, none, ...input }) {
    const { template, paths } = setting;
    const problem = templateProblem(template);
    const example = sourceOf(setting, { file: `${paths[0]?.from ?? ""}Sources/CartView.swift`, line: 118 }, "4.2");
    return html`<${Field} label="Links to source code" class="mono" spellcheck=${false} autocomplete="off" maxlength="500" placeholder=${none} value=${template} set=${set}
            aria-invalid=${problem ? "true" : undefined} aria-describedby="source-help" ...${input} />
        <div class="buttons">${PRESETS.map(([name, text]) => html`<button type="button" key=${name} class="button small" disabled=${input.disabled} onClick=${() => set(text)}>${name}</button>`)}</div>
        <p class="small muted" id="source-help"><code>{path}</code>, <code>{line}</code> and <code>{version}</code> are filled in. A command, as that for Xcode, is copied.</p>
        ${problem && html`<p class="form-error" role="alert">${problem}</p>`}
        ${example && html`<p class="small">Example: <code>${example.href ?? example.command}</code></p>`}`;
}
