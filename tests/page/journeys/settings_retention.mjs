/** Limits are previewed, saved, and a sweep that would delete much waits until it is confirmed on the page. */
export default async function ({ open, settings, expect, same }) {
    const page = await open({ path: "/p/default/settings/retention" });
    const project = () => page.evaluate(async () => (await fetch("/api/v1/project?project=default")).json());
    const reports = () => page.evaluate(async () => (await (await fetch("/api/v1/project/retention?project=default")).json()).use.reports);
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
    await page.waitForFunction(async () => (await (await fetch("/api/v1/project/retention?project=default")).json()).waits);
    same(await reports(), 12, "nothing is deleted while it waits");
    await page.reload();
    await page.getByRole("button", { name: "Delete them" }).click();
    await page.waitForFunction(async () => (await (await fetch("/api/v1/project/retention?project=default")).json()).use.reports === 5);
    await page.waitForFunction(async () => !(await (await fetch("/api/v1/project/retention?project=default")).json()).waits);
}
