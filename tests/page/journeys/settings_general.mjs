/** Links to sources, filters, the name of a project, and a new one with its key. */
export default async function ({ open, settings, expect, same }) {
    const page = await open({ path: "/p/default/settings/general", allow: ["status of 40"] });
    const template = page.getByLabel("Links to source code");
    const save = page.getByRole("button", { name: "Save", exact: true });
    await template.fill("javascript:alert(1)//{path}");
    await page.getByRole("alert").filter({ hasText: "begin with https://" }).waitFor();
    expect(await save.isDisabled(), "what is no link is not sent");
    await page.getByRole("button", { name: "GitHub" }).click();
    same(await template.inputValue(), "https://github.com/OWNER/REPOSITORY/blob/v{version}/{path}#L{line}", "the preset");
    await template.fill("https://git.example.com/shop/{path}#L{line}");
    await page.getByLabel("Beginnings of paths and what takes their place").fill("/src/ => Sources/\n");
    if (settings.shots) await page.screenshot({ path: `${settings.shots}/general.png`, fullPage: true });
    await save.click();
    await page.getByText("It is saved, for everybody in the project").waitFor();

    // A filter that one saves is everybody's.
    await page.goto(`${settings.url}/p/default/issues?query=kind%3Acrash`);
    await page.getByRole("button", { name: "Filters" }).click();
    await page.getByRole("menuitem", { name: "Save this filter…" }).click();
    await page.getByLabel("Name").fill("Only crashes");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "Only crashes" }).waitFor();

    await page.goto(`${settings.url}/p/default/settings/general`);
    same(await template.inputValue(), "https://git.example.com/shop/{path}#L{line}", "the template is kept");
    await page.getByRole("button", { name: "Rename Only crashes" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("Crashes");
    await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
    await page.getByRole("button", { name: "Delete Crashes" }).click();
    await page.getByText("None yet.").waitFor();

    // A new project, whose key is shown once.
    await page.getByRole("button", { name: "New project" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("till");
    await page.getByRole("dialog").getByRole("button", { name: "Make it" }).click();
    const key = await page.locator(".once-text").textContent();
    expect(/^[0-9a-f]{32}$/.test(key), "an ingest key");
    await page.getByRole("link", { name: "till" }).click();
    await page.getByRole("heading", { level: 1, name: "First steps" }).waitFor();

    // A filter and a template of this browser only: also those that an earlier version of the page kept under the name.
    await page.evaluate(() => localStorage.setItem("framezero.source.till", JSON.stringify({ template: "xed {path}", prefix: "" })));
    await page.goto(`${settings.url}/p/till/issues?query=kind%3Ahang`);
    await page.getByRole("button", { name: "Filters" }).click();
    await page.getByRole("menuitem", { name: "Save this filter…" }).click();
    await page.getByLabel("Name").fill("My hangs");
    await page.getByLabel("For everybody in the project").uncheck();
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "My hangs" }).waitFor();

    // Another name is a new address.
    await page.goto(`${settings.url}/p/till/settings/general`);
    await page.getByLabel("Name of the project").fill("checkout");
    await page.getByRole("button", { name: "Rename", exact: true }).click();
    await page.waitForURL("**/p/checkout/settings/general");
    await page.getByLabel("Name of the project").waitFor();
    same(await page.getByLabel("Name of the project").inputValue(), "checkout", "the name");
    await page.goto(`${settings.url}/p/checkout/issues?query=kind%3Ahang`);
    await page.getByRole("button", { name: "My hangs" }).waitFor();
    // Who gets the old name does not get what was kept.
    await page.evaluate(async () => (await fetch("/api/v1/projects", { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"name": "till"}' })).text());
    await page.goto(`${settings.url}/p/till/issues?query=kind%3Ahang`);
    await page.getByRole("button", { name: "Filters" }).click();
    await page.getByRole("menuitem", { name: "Save this filter…" }).waitFor();
    same(await page.getByRole("menuitemradio").count(), 0, "filters of another project");
}
