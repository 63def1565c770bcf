/** Symbol files: those that reports wait for, those that are there, and the way to send more. */
import { html, useState, useEffect } from "../lib/preact.js";
import { get } from "../lib/api.js";
import { copy } from "../lib/copy.js";
import { count, number } from "../lib/format.js";
import { useLive, useNews } from "../lib/live.js";
import { changed, useLoad } from "../lib/load.js";
import { pathTo, queryText, setQuery } from "../lib/router.js";
import { commandsFor, dashed } from "../lib/symbols.js";
import { agoText, fullTime } from "../lib/time.js";
import { PresentFiles } from "./symbols/present.js";
import { UploadBox } from "./symbols/upload.js";
import { Icon } from "../ui/icon.js";
import { Failure, Skeleton } from "../ui/state.js";
import { toast } from "../ui/toast.js";

/** @typedef {import("../lib/types.js").MissingImage} Missing */

const SHOWN = 50;

/** @param {{text: string, what: string, title: string}} props */
function Command({ text, what, title }) {
    return html`<div class="command">
        <p class="small">${title}</p>
        <div class="command-line"><pre tabindex="0" aria-label=${what}>${text}</pre>
            <button type="button" class="button small" aria-label=${`Copy: ${what}`} onClick=${() => copy(text, what)}><${Icon} name="copy" />Copy</button></div>
    </div>`;
}

/** @param {{project: string, image: Missing}} props */
function HowTo({ project, image }) {
    const { find, upload, both, curl } = commandsFor({ origin: location.origin, project, uuid: image.uuid });
    return html`<div class="how-to">
        <p>Needed is the dSYM of exactly this build: the one with the UUID <code>${dashed(image.uuid)}</code>. Drop it on this page, or send it from a Mac:</p>
        <${Command} title="Find it on the Mac that built it, and send it:" what="The command" text=${both} />
        <${Command} title="Only find it (Spotlight knows the UUIDs of all dSYMs):" what="The command to find it" text=${find} />
        <${Command} title="Send a dSYM, an .xcarchive, or a folder with any number of them:" what="The command to upload" text=${upload} />
        <${Command} title="Without framezero, zipped:" what="The command for curl" text=${curl} />
        <ul class="hints small muted">
            <li>Xcode: Window › Organizer, right-click the archive, <em>Show in Finder</em>; the dSYMs folder is inside the .xcarchive.</li>
            <li>App Store Connect has it only for bitcode builds: TestFlight, the build, <em>Download dSYM</em>.</li>
            <li>No archive has it? Then the build had no dSYM: set <em>Debug Information Format</em> to <em>DWARF with dSYM File</em>.</li>
            <li>A library of the system has no dSYM: send the file itself, from <code>~/Library/Developer/Xcode/iOS DeviceSupport</code> on a Mac to which a device with that system was connected.</li>
            <li><code>FRAMEZERO_TOKEN</code> is a token with the scope <code>upload</code>: <code>framezero token create --scope upload</code>.</li>
        </ul>
    </div>`;
}

/** @param {{project: string, image: Missing, isOpen: boolean, toggle: () => void}} props */
function MissingRow({ project, image, isOpen, toggle }) {
    const reports = pathTo(project, "reports") + queryText({ query: `uuid:${image.uuid}` });
    return html`<li class=${`missing ${isOpen ? "open" : ""}`}>
        <div class="missing-row">
            <button type="button" class="missing-name" aria-expanded=${String(isOpen)} onClick=${toggle}>
                <${Icon} name=${isOpen ? "down" : "right"} size=${12} />
                <span class="missing-title"><strong class="cut">${image.name ?? "unnamed image"}</strong>
                    <span class="mono tiny muted cut">${image.arch ?? ""} ${image.uuid}</span></span>
            </button>
            <span class="missing-versions small cut">${image.app_versions.slice(0, 4).join(", ")}${image.app_versions.length > 4 && ` and ${image.app_versions.length - 4} more`}</span>
            <a class="number small nowrap" href=${reports}>${count(image.reports, "report")}</a>
            <span class="missing-seen small nowrap muted" title=${image.first_seen && `first seen ${fullTime(image.first_seen)}`}>${image.last_seen && `seen ${agoText(image.last_seen)}`}</span>
        </div>
        ${isOpen && html`<${HowTo} project=${project} image=${image} />`}
    </li>`;
}

/** @param {{project: string, missing: Missing[], wanted: string}} props wanted: the UUID of the address */
function MissingFiles({ project, missing, wanted }) {
    const [most, setMost] = useState(SHOWN);
    const first = missing.filter((one) => one.uuid === wanted);
    const all = [...first, ...missing.filter((one) => one.uuid !== wanted)];
    const sum = missing.reduce((n, one) => Math.max(n, one.reports), 0);
    return html`<section>
        <h2>${missing.length ? `${number(missing.length)} missing` : "Nothing is missing"}</h2>
        <p class="small muted">${missing.length
            ? `Reports have frames in these images and no names for them; the first alone has ${count(sum, "report")}.`
            : "Every report has the symbol files that its own images need."}</p>
        ${wanted && !first.length && html`<p class="notice" role="status">No report waits for <code>${wanted.slice(0, 64)}</code> any more.</p>`}
        ${all.length > 0 && html`<ul class="missings">
            ${all.slice(0, most).map((image) => html`<${MissingRow} key=${image.uuid} project=${project} image=${image} isOpen=${image.uuid === wanted}
                toggle=${() => setQuery({ uuid: image.uuid === wanted ? undefined : image.uuid }, { replace: true })} />`)}
        </ul>`}
        ${all.length > most && html`<button type="button" class="linklike small" onClick=${() => setMost(500)}>${count(all.length - most, "more", "more")}</button>`}
    </section>`;
}

const AGAIN_MS = 10000;

/** @param {{project: string, route: import("../lib/router.js").Route}} props */
export function Screen({ project, route }) {
    const { data, error, isLoading, reload } = useLoad("symbols/missing", (signal) => get("/symbols/missing", { limit: 500 }, signal));
    useEffect(() => {
        document.title = `Symbols – ${project} – framezero`;
    }, [project]);
    // Others upload, too, and reports keep coming.
    useLive({ reload, isLoading }, () => true, /./, AGAIN_MS);
    useNews((news) => {
        if (news["symbols.changed"]) changed("symbols/present");
        const n = news["upload.finished"]?.unblocked;
        if (n) toast(`${count(n, "report")} unblocked by an upload`);
    });
    return html`
        <h1 class="unseen">Symbols</h1>
        <div class="symbols-screen">
            <${UploadBox} project=${project} />
            ${error && !data && html`<${Failure} error=${error} retry=${reload} />`}
            ${!data && !error && html`<${Skeleton} rows=${3} />`}
            ${data && html`<${MissingFiles} project=${project} missing=${data.missing} wanted=${route.query.uuid ?? ""} />`}
            <${PresentFiles} project=${project} />
        </div>`;
}
