/** What can be done to issues, for one of them and for many: the requests, the messages, and how to take them back. */
import { patch, post } from "../../lib/api.js";
import { changed } from "../../lib/load.js";
import { count } from "../../lib/format.js";
import { toast, toastError } from "../../ui/toast.js";

/** @typedef {import("../../lib/types.js").Issue} Issue */

const AT_ONCE = 4;

/** Lists, and the issues themselves, are loaded again. */
export function issuesChanged() {
    changed("issues?");
    changed("issue/");
}

/** @template T @param {T[]} all @param {(one: T) => Promise<any>} run @returns {Promise<Error[]>} what failed */
async function forAll(all, run) {
    /** @type {Error[]} */
    const failed = [];
    const rest = [...all];
    const work = async () => {
        for (let one = rest.shift(); one; one = rest.shift()) {
            try {
                await run(one);
            } catch (error) {
                failed.push(/** @type {Error} */ (error));
            }
        }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return failed;
}

/** @param {Issue[]} issues */
const named = (issues) => (issues.length === 1 ? `#${issues[0].number}` : count(issues.length, "issue"));

/** What sets an issue back to its state of before. @param {Issue & Record<string, any>} issue */
function before(issue) {
    if (issue.state === "resolved" && issue.resolved_in?.every((/** @type {any} */ fix) => fix.version)) {
        return { state: "resolved", resolved_in: issue.resolved_in };
    }
    return { state: issue.state };
}

/**
 * Change the state of issues; the message has an undo.
 * @param {Issue[]} issues
 * @param {Record<string, any>} change as PATCH /issues/N takes it
 * @param {string} done "resolved in the next version"
 */
export async function changeState(issues, change, done) {
    const failed = await forAll(issues, (issue) => patch(`/issues/${issue.number}`, change));
    issuesChanged();
    if (failed.length) return toastError(failed[0]);
    const undo = async () => {
        const again = await forAll(issues, (issue) => patch(`/issues/${issue.number}`, before(issue)));
        issuesChanged();
        if (again.length) toastError(again[0]);
    };
    toast(`${named(issues)} ${done}`, { action: { text: "Undo", run: undo } });
}

/** @param {Issue[]} issues @param {string | null} assignee null: nobody */
export async function assign(issues, assignee) {
    const failed = await forAll(issues, (issue) => patch(`/issues/${issue.number}`, { assignee }));
    issuesChanged();
    if (failed.length) toastError(failed[0]);
    else toast(assignee ? `${named(issues)} assigned to ${assignee}` : `${named(issues)} assigned to nobody`);
}

/** Throws what the server refuses. @param {Issue[]} issues @param {number} into */
export async function merge(issues, into) {
    const failed = await forAll(issues.filter((one) => one.number !== into), (issue) => post(`/issues/${issue.number}/merge`, { into }));
    issuesChanged();
    if (failed.length) throw failed[0];
    toast(`${named(issues.filter((one) => one.number !== into))} merged into #${into}`);
}

/** The choices of the menus "Resolve" and "Ignore". @param {(change: Record<string, any>, done: string) => void} run */
export function resolveItems(run) {
    return [
        { text: "Resolved", hint: "in the newest version", run: () => run({ state: "resolved" }, "resolved") },
        { text: "Resolved in the next version", run: () => run({ resolved_in: "next" }, "resolved in the next version") },
    ];
}

/** @param {(change: Record<string, any>, done: string) => void} run */
export function ignoreItems(run) {
    const day = 86400e3;
    const until = (/** @type {number} */ days) => ({ ignore_until: { time: new Date(Date.now() + days * day).toISOString() } });
    return [
        { text: "For a week", run: () => run(until(7), "ignored for a week") },
        { text: "For 30 days", run: () => run(until(30), "ignored for 30 days") },
        { text: "Until the next version", run: () => run({ ignore_until: "next" }, "ignored until the next version") },
        { text: "Until 25 more users have it", run: () => run({ ignore_until: { users: 25 } }, "ignored until 25 more users have it") },
        { text: "Until 100 more reports came", run: () => run({ ignore_until: { reports: 100 } }, "ignored until 100 more reports came") },
        { text: "For ever", run: () => run({ state: "ignored" }, "ignored") },
    ];
}
