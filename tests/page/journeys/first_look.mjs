/** A new user: pastes the token, finds the crash in the list, opens it, and sees names and variables. */
export default async function ({ open, settings, expect, same }) {
    const page = await open({ loggedIn: false, allow: ["401"] });
    // A wrong token is refused with the server's words, and the form stays.
    await page.getByLabel("Token").fill("fz_wrong");
    await page.getByRole("button", { name: "Log in", exact: true }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Token").fill(settings.token);
    await page.getByRole("button", { name: "Log in", exact: true }).click();
    const link = page.getByRole("link", { name: "shop::price_of" });
    await link.waitFor();
    same(new URL(page.url()).pathname, "/p/default/issues", "the address of the list");
    await link.click();
    await page.getByRole("heading", { level: 1, name: "shop::price_of" }).waitFor();
    await page.getByText("Bad memory access at 0x8: 8 bytes past nil").waitFor();

    const lastSeen = await page.locator(".fact").filter({ hasText: "Last seen" }).locator("dd").textContent();
    expect(/^(just now|\d+ min ago) in \S/.test(lastSeen ?? ""), `an age in a sentence: ${lastSeen}`);

    const stack = page.getByRole("list", { name: "Stack of the crash" });
    const lines = await stack.locator(".function").allTextContents();
    same(lines.slice(0, 3), ["shop::price_of(shop::item const*)", "shop::cart::total() const", "checkout(int)"], "the stack");
    same(await stack.locator(".place").first().textContent(), "cart.h:16:18", "file, line and column");
    same(await stack.locator(".inlined").count(), 1, "inlined calls");

    // The variables of the frame that decides are open; those of its caller open with a click.
    const variables = page.getByRole("table", { name: "Variables of shop::cart::total() const" });
    const rows = (await variables.getByRole("row").allTextContents()).map((text) => text.replace(/\s+/g, " ").trim());
    expect(rows.some((row) => row.startsWith("sum") && row.includes("1050")), `the value of sum: ${rows}`);
    expect(rows.some((row) => row.startsWith("i") && row.includes("optimised out")), `availability in words: ${rows}`);
    await variables.getByRole("button", { name: "items_" }).click();
    await variables.getByText("[0]").first().waitFor();
    await stack.getByRole("button", { name: "3 variables" }).last().click();
    await page.getByRole("table", { name: "Variables of checkout(int)" }).waitFor();

    // Reload: everything is in the address. Back: the list.
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "shop::price_of" }).waitFor();
    await page.goBack();
    await link.waitFor();

    // Downloads come as files with the server's name.
    await link.click();
    await page.getByRole("button", { name: "More actions" }).click();
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "Apple’s text, .crash" }).click()]);
    expect(/\.crash$/.test(file.suggestedFilename()), file.suggestedFilename());

    await page.getByRole("button", { name: /Theme, help, log out/ }).click();
    await page.getByRole("menuitem", { name: "Log out" }).click();
    await page.getByLabel("Token").waitFor();
    same(await page.evaluate(() => sessionStorage.length), 0, "what is left in the session's storage");
    const kept = await page.evaluate(() => JSON.stringify({ ...localStorage }) + document.cookie);
    expect(!kept.includes("fz_"), `a token is kept: ${kept}`);
    await page.goto(`${settings.url}/p/default/issues`);
    await page.getByLabel("Token").waitFor();
}
