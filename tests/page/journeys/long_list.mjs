/** A list of several pages: what is far from the window is not in the document, everything can be reached, Back comes to the same row. */
const MOST_ROWS = 80;

export default async function ({ open, settings, expect, same }) {
    const page = await open({ path: "/p/default/issues?query=app%3Acom.acme.long&sort=first_seen" });
    await page.locator(".issue-link").first().waitFor();
    const seen = new Set();
    const end = Date.now() + 60000;
    while (seen.size < settings.n && Date.now() < end) {
        const now = await page.locator(".issue-link").allTextContents();
        expect(now.length <= MOST_ROWS, `${now.length} rows are in the document`);
        for (const title of now) seen.add(title);
        await page.mouse.wheel(0, 600);
        await page.waitForTimeout(30);
    }
    same(seen.size, settings.n, "issues that were seen");
    await page.getByText(`${settings.n} issues`).waitFor();

    // From the middle of the list into an issue and back.
    await page.evaluate(() => scrollTo(0, 6000));
    await page.waitForTimeout(100);
    const link = page.locator(".issue-link").nth(20);
    const [title, top] = [await link.textContent(), await page.evaluate(() => scrollY)];
    await link.click();
    await page.locator(".stack").waitFor();
    same(await page.evaluate(() => scrollY), 0, "where an issue begins");
    await page.goBack();
    await page.locator(".issue-link", { hasText: title }).waitFor();
    expect(Math.abs(await page.evaluate(() => scrollY) - top) < 5, "the list is where it was");
}
