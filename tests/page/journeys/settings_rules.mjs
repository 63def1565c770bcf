/** Rules: a mistake is marked at its place, a dry run says what would change, applying merges, undo takes it back. */
export default async function ({ open, settings, expect, same }) {
    const page = await open({ path: "/p/default/settings/grouping", allow: ["status of 400", "status of 409"] });
    const rules = page.getByRole("textbox", { name: "Rules" });
    const issues = () => page.evaluate(async () => (await (await fetch("/api/v1/issues?project=default")).json()).issues.length);
    const before = await issues();
    await rules.fill("# ours\nskip everything *\n");
    await page.getByRole("button", { name: "Try it" }).click();
    await page.getByRole("alert").getByText("line 2").waitFor();
    same(await page.locator(".editor .wrong").allTextContents(), ["2"], "the line that is marked");
    same(await rules.evaluate((area) => area.value.slice(area.selectionStart, area.selectionEnd)), "everything", "the word that is selected");
    await rules.fill("skip function log_*\n");
    same(await page.locator(".editor .wrong").count(), 0, "marks after a change");
    await page.getByRole("button", { name: "Try it" }).click();
    await page.getByText("1 issue would become part of others").waitFor();
    expect((await page.locator(".examples").textContent()).includes("becomes part of"), "the example");
    same(await issues(), before, "a dry run changes nothing");
    if (settings.shots) await page.screenshot({ path: `${settings.shots}/rules.png` });
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByText("The rules are applied").waitFor();
    same(await issues(), before - 1, "issues under the rules");
    await page.getByText("version 1", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Undo the last change" }).click();
    await page.getByText("took back version 1").waitFor();
    same(await issues(), before, "issues after undo");
    same(await rules.inputValue(), "", "the rules after undo");

    // Rules that somebody else changed meanwhile are not overwritten.
    await rules.fill("skip function a\n");
    const other = await page.evaluate(async () => (await fetch("/api/v1/grouping?project=default", { method: "PUT", body: JSON.stringify({ rules: "skip function b\n" }) })).status);
    same(other, 200, "the other change");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.locator("#rules-error.form-error").waitFor();
    same(await rules.inputValue(), "skip function a\n", "the text that was not applied");
    await page.getByRole("button", { name: "Discard changes" }).click();
    await page.waitForFunction(() => document.querySelector(".editor textarea").value === "skip function b\n");
}
