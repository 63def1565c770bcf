/** What can be done with a report: take it along as a file, have it done again, delete it. */
import { html, useState } from "../../lib/preact.js";
import { download, post, request } from "../../lib/api.js";
import { copy } from "../../lib/copy.js";
import { changed } from "../../lib/load.js";
import { go, pathTo } from "../../lib/router.js";
import { may } from "../../lib/session.js";
import { Dialog, DialogButtons } from "../../ui/dialog.js";
import { Menu } from "../../ui/menu.js";
import { toast, toastError } from "../../ui/toast.js";
import { SourceDialog } from "../issue/actions.js";

const FORMATS = [["crash", "Apple’s text, .crash"], ["ips", "Apple’s .ips"], ["json", "All of it, .json"], ["raw", "As it was sent"]];

/** @param {{run: () => Promise<void>, close: () => void}} props */
function DeleteDialog({ run, close }) {
    const [isBusy, setBusy] = useState(false);
    const submit = async (/** @type {Event} */ event) => {
        event.preventDefault();
        setBusy(true);
        await run().catch(toastError);
        setBusy(false);
    };
    return html`<${Dialog} title="Delete this report?" close=${close}>
        <form class="form" onSubmit=${submit}>
            <p>The report and what was captured with it are deleted. This cannot be undone.</p>
            <${DialogButtons} text="Delete" danger isBusy=${isBusy} close=${close} />
        </form>
    <//>`;
}

/** @param {{project: string, report: import("../../lib/types.js").Report, sourceChanged: () => void}} props */
export function ReportActions({ project, report, sourceChanged }) {
    const [asked, setAsked] = useState("");
    const isAdmin = may(project, "admin");
    const close = () => setAsked("");
    const again = async () => {
        try {
            await post(`/reports/${report.id}/reprocess`, undefined);
            toast("The report is being done again");
            changed(`report/${report.id}`);
        } catch (error) {
            toastError(error);
        }
    };
    const remove = async () => {
        await request("DELETE", `/reports/${report.id}`);
        changed("reports?");
        changed("issue");
        go(pathTo(project, "reports"), { replace: true });
        toast("The report was deleted");
    };
    const save = (/** @type {string} */ format) => () => download(`/reports/${report.id}`, { format }, `${report.id}.${format}`).catch(toastError);
    const downloads = FORMATS.map(([format, text]) => ({ text, run: save(format) }));
    const more = [
        { text: "Copy the link", icon: "link", run: () => copy(location.href, "The link") },
        { text: "Links to source code…", run: () => setAsked("source") },
        ...(isAdmin ? [
            { text: "Do it again", icon: "refresh", group: "Admin", run: again },
            { text: "Delete…", icon: "cross", group: "Admin", run: () => setAsked("delete") },
        ] : []),
    ];
    return html`<div class="buttons issue-actions">
        ${report.issue?.number && html`<a class="button primary" href=${pathTo(project, "issues", report.issue.number)}>Open the issue</a>`}
        <${Menu} label="Download" icon="download" items=${downloads} side="right" />
        <${Menu} name="More actions" icon="more" plain class="button square" items=${more} side="right" />
        ${asked === "source" && html`<${SourceDialog} project=${project} close=${close} saved=${sourceChanged} />`}
        ${asked === "delete" && html`<${DeleteDialog} run=${remove} close=${close} />`}
    </div>`;
}
