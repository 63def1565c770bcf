/** A version whose name is markup: it is shown as text, can be compared, and its link finds its reports. */
export default async function ({ open, settings, expect, same }) {
    const page = await open({ path: "/p/default/versions" });
    const all = page.getByRole("region", { name: "All versions" });
    await all.getByRole("row").first().waitFor();
    same(await all.getByRole("rowheader").count(), 20, "versions at first");
    await page.getByRole("button", { name: "Show all 22 versions" }).click();
    same(await all.getByRole("rowheader").count(), 22, "all versions");
    const link = all.getByRole("link", { name: settings.text }).first();
    await link.waitFor();
    const option = page.getByLabel("with").locator("option").filter({ hasText: settings.text });
    await page.getByLabel("with").selectOption(await option.getAttribute("value"));
    expect(new URL(page.url()).searchParams.get("compare").startsWith(settings.text), page.url());
    same(await page.getByRole("alert").count(), 0, "the pair is found in the address");
    await link.click();
    await page.locator(".issue-link").first().waitFor();
    same(await page.evaluate(() => window.pwned), undefined, "what a script would have set");
}
