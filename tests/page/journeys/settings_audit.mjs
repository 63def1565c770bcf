/** The audit log says in words who changed what, and names from outside stay text. */
export default async function ({ open, settings, expect, same }) {
    const page = await open({ path: "/p/default/settings/audit" });
    const rows = page.getByRole("region", { name: "All entries" }).locator("tbody tr");
    const read = async () => (await rows.allTextContents()).map((text) => text.replace(/\s+/g, " ").trim());
    await rows.first().waitFor();
    const all = await read();
    const find = (what) => all.find((row) => row.includes(what)) ?? "";
    expect(find("changed settings").includes(settings.label), `who changed settings: ${all}`);
    expect(find("made a token").length > 0 && find("logged in").includes(settings.person), `tokens and logins: ${all}`);
    expect(find("failed to log in").length > 0, `failures: ${all}`);
    expect(all.every((row) => /^\d{1,2} \w{3} \d{4}, \d\d:\d\d:\d\d/.test(row) && row.endsWith("127.0.0.1")), `when and from where: ${all}`);
    same(all.filter((row) => /\b[a-z]+_[a-z]+\b/.test(row.replaceAll(settings.label, ""))), [], "entries that show the name of a route");
    same(await page.locator("main img, main b, main script").count(), 0, "text that became markup");
    same(await page.evaluate(() => window.pwned), undefined, "what a script would have set");
    if (settings.shots) await page.screenshot({ path: `${settings.shots}/audit.png` });
    await page.getByLabel("What").selectOption("changed settings");
    // Between the two lists there may be no row at all.
    await page.waitForFunction(() => {
        const shown = [...document.querySelectorAll("tbody tr")];
        return shown.length > 0 && shown.every((row) => row.textContent.includes("changed settings"));
    });
    same((await read()).length, 1, "entries of one kind");
}
