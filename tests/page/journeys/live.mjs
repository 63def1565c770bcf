/**
 * What comes while a screen is open is on it, without a reload of the page: a report in the list, though not while somebody walks
 * through it; an upload among the symbols. A tab that is not seen hears nothing, and catches up.
 */
export default async function ({ open, settings, expect, same }) {
    const send = async (path, body) => {
        const answer = await fetch(`${settings.url}/api/v1/${path}`, { method: "POST", body, headers: { Authorization: `Bearer ${settings.token}` } });
        expect(answer.ok, `${path}: ${answer.status}`);
    };
    const streams = async () => +/^framezero_http_streams (.*)$/m.exec(await (await fetch(`${settings.url}/metrics`)).text())[1];
    const until = async (what, is) => {
        for (let end = Date.now() + 5000; !(await is()); ) expect(Date.now() < end, what);
    };
    const page = await open({ path: "/p/default/issues?query=app%3Acom.acme.live" });
    let asked = 0;
    page.on("request", (request) => request.url().includes("/api/v1/issues?") && asked++);
    await page.getByRole("heading", { name: "No issue matches" }).waitFor();
    await page.evaluate(() => (window.isSamePage = true));
    await until("the stream of the page", async () => (await streams()) === 1);
    // By events: asking would take up to 20 seconds.
    const within = { timeout: 8000 };
    await send("reports", settings.reports[0]);
    await page.locator(".issue-link", { hasText: "Live.first()" }).waitFor(within);
    // The second one, too; and the focus stays.
    await page.locator(".query-box input, input[role=combobox]").first().focus();
    await send("reports", settings.reports[1]);
    await page.locator(".issue-link", { hasText: "Live.second()" }).waitFor(within);
    same(await page.evaluate(() => document.activeElement?.tagName), "INPUT", "what has the focus");
    await page.evaluate(() => document.activeElement.blur());

    await page.keyboard.press("j");
    await page.waitForTimeout(2500);
    asked = 0;
    await send("reports", settings.reports[2]);
    await page.waitForTimeout(4000);
    same(asked, 0, "requests for the list while somebody walks through it");
    same(await page.locator(".issue-link").count(), 2, "rows");

    // As a tab that is hidden, and shown again.
    const setHidden = (hidden) => page.evaluate((value) => {
        Object.defineProperty(document, "hidden", { value, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
    await page.goto(`${settings.url}/p/default/symbols`);
    await page.getByText("Drop symbol files here").waitFor();
    await until("one stream", async () => (await streams()) === 1);
    await setHidden(true);
    await until("the end of the stream of a tab that is hidden", async () => (await streams()) === 0);
    await setHidden(false);
    await until("its stream", async () => (await streams()) === 1);
    await page.evaluate(() => (window.isSamePage = true));
    await page.waitForTimeout(2500);
    await send("symbols?name=Demo.dSYM.zip", Buffer.from(settings.dsym, "base64"));
    await page.getByText("1 report unblocked by an upload").waitFor({ timeout: 15000 });
    await page.locator(".file-name", { hasText: "Demo" }).first().waitFor(within);
    expect(await page.evaluate(() => window.isSamePage), "the page was not loaded again");
}
