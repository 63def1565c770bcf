/** Triage by keyboard only: find, resolve, take back, ignore, assign, merge, comment. The mouse is not used. */
export default async function ({ open, expect, same }) {
    const page = await open({ allow: ["status of 400"] });
    const press = (...keys) => keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
    const titles = () => page.locator(".issue-link").allTextContents();
    const toast = (text) => page.getByRole("status").getByText(text).waitFor();
    await page.locator(".issue-link").first().waitFor();
    const before = await titles();

    await press("j", "j");
    same(await page.evaluate(() => document.activeElement.textContent), before[1], "the row with the focus");
    await press("k", "e");
    await toast("resolved");
    await page.locator(".issue-link", { hasText: before[0] }).waitFor({ state: "detached" });
    // The undo is a button of the message.
    await page.getByRole("button", { name: "Undo" }).focus();
    await press("Enter");
    await page.locator(".issue-link", { hasText: before[0] }).waitFor();

    // Two are selected and ignored.
    await press("j", "x", "j", "x");
    await page.getByText("2 issues selected").waitFor();
    await press("i");
    await toast("2 issues ignored");

    // A query, with completion of its key and of its value.
    await press("/");
    await page.keyboard.type("is:ign");
    await page.getByRole("option", { name: "ignored" }).waitFor();
    await press("ArrowDown", "Enter", "Enter");
    await page.waitForURL(/query=is%3Aignored/);
    await page.waitForFunction(() => document.querySelectorAll(".issue-link").length === 2);

    // A mistake says what is wrong, and the list stays.
    await press("/");
    await page.keyboard.type("vesion:4");
    await press("Escape", "Enter");
    await page.getByText('unknown key "vesion": did you mean "version"?').waitFor();
    await press("/");
    await page.keyboard.type("is:open");
    await press("Escape", "Enter");
    await page.waitForURL(/query=is%3Aopen/);
    await page.waitForFunction(() => document.querySelectorAll(".issue-link").length > 2 && !document.querySelector(".stale"));
    await page.evaluate(() => document.activeElement.blur());

    // Open the first, assign it, comment it, and go to the next report and back to the list.
    await press("j", "Enter");
    await page.locator(".stack").waitFor();
    await press("a");
    await page.keyboard.type("anna");
    await press("Enter");
    await toast("assigned to anna");
    await press("c");
    await page.keyboard.type("Seen on the beta <b>only</b>.");
    await press("Control+Enter");
    await page.getByText("Seen on the beta <b>only</b>.").waitFor();
    await page.evaluate(() => document.activeElement.blur());
    await page.getByText(/1 of \d+/).waitFor();
    await press("n");
    await page.getByText(/2 of \d+/).waitFor();
    await press("u");
    await page.locator(".issue-link").first().waitFor();

    // Merge two: the smaller goes into the larger.
    const [, second, third] = await titles();
    await press("j", "j", "x", "j", "x", "m");
    await page.getByRole("dialog", { name: "Merge 2 issues" }).waitFor();
    const into = await page.locator(".choice", { has: page.locator("input:checked") }).textContent();
    expect(into.includes(second) || into.includes(third), `merges into ${into}`);
    await page.getByRole("button", { name: "Merge", exact: true }).focus();
    await press("Enter");
    await toast("merged into");

    // The help lists it all, and closes.
    await press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await press("g", "i");
    await page.waitForURL(/issues$/);
}
