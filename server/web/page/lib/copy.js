/** The clipboard, also on plain http, where browsers have no navigator.clipboard. */
import { toast } from "../ui/toast.js";

/** @param {string} text @param {string} what is said then: "The stack" */
export async function copy(text, what) {
    try {
        if (navigator.clipboard) {
            await navigator.clipboard.writeText(text);
        } else {
            const area = document.createElement("textarea");
            area.value = text;
            area.className = "unseen";
            document.body.append(area);
            area.select();
            const isDone = document.execCommand("copy");
            area.remove();
            if (!isDone) throw new Error();
        }
        toast(`${what} is in the clipboard`);
    } catch {
        toast(`${what} could not be copied: the browser did not allow it`, { kind: "error" });
    }
}
