/** A report that comes while the list is open is in it, without a reload of the page, and not while somebody walks through it. */
export default async function ({ open, settings, expect, same }) {
    const page = await open({ path: "/p/default/issues?query=app%3Acom.acme.live" });
    await page.getByRole("heading", { name: "No issue matches" }).waitFor();
    await page.evaluate(() => (window.isSamePage = true));
    const send = async (body) => {
        const answer = await fetch(`${settings.url}/api/v1/reports?wait=30`, { method: "POST", body, headers: { Authorization: `Bearer ${settings.token}` } });
        same(answer.status, 200, "the report");
    };
    // As when one comes back to the tab; otherwise it takes up to 20 seconds.
    const again = () => page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await send(settings.reports[0]);
    await again();
    await page.locator(".issue-link", { hasText: "Live.first()" }).waitFor();

    await page.keyboard.press("j");
    await send(settings.reports[1]);
    let asked = 0;
    page.on("request", (request) => request.url().includes("/api/v1/issues?") && asked++);
    await again();
    await page.waitForTimeout(300);
    same(asked, 0, "requests for the list while somebody walks through it");
    same(await page.locator(".issue-link").count(), 1, "rows");
    expect(await page.evaluate(() => window.isSamePage), "the page was not loaded again");
}
