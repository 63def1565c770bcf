/** Limits are previewed, saved, and a sweep that would delete much waits until it is confirmed on the page. */
export default async function ({ open, settings, expect, same }) {
    const page = await open({ path: "/p/default/settings/retention" });
    const project = () => page.evaluate(async () => (await fetch("/api/v1/project?project=default")).json());
    const retention = () => page.evaluate(async () => (await fetch("/api/v1/project/retention?project=default")).json());
    // waitForFunction() takes the promise of an async function for its value.
    const until = async (/** @type {(now: any) => boolean} */ test, /** @type {string} */ what) => {
        for (let i = 0; i < 200; i++) {
            if (test(await retention())) return;
            await page.waitForTimeout(100);
        }
        expect(false, what);
    };
    const reports = async () => (await retention()).use.reports;
    const days = page.getByLabel("Days until reports are deleted");
    await days.waitFor();
    same(await days.inputValue(), "90", "the limit of a new project");
    expect(await page.getByRole("row", { name: /^Symbolicated reports 12 / }).isVisible(), "what is stored");
    await page.getByLabel("Reports that stay at most").fill("5");
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByText("7 reports of frequent issues").waitFor();
    same((await project()).keep_reports, 0, "a preview changes nothing");
    if (settings.shots) await page.screenshot({ path: `${settings.shots}/retention.png` });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("It counts from the next sweep on").waitFor();
    same((await project()).keep_reports, 5, "the limit");
    await until((now) => now.waits, "the sweep waits");
    same(await reports(), 12, "nothing is deleted while it waits");
    await page.reload();
    await page.getByRole("button", { name: "Delete them" }).click();
    await until((now) => now.use.reports === 5 && !now.waits, "the reports are deleted");
}
