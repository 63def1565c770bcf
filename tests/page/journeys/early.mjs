/** What a first visit shows is asked for before the page's code is there, once, and by screens that are far down as well. */
const HELD_MS = 20000;

export default async function ({ open, settings, expect, same }) {
    const page = await open({ path: "/login", allow: ["401"] });
    // No news, for which a list is loaded again.
    await page.route("**/api/v1/events?*", (route) => route.fulfill({ status: 204 }));
    await page.addInitScript(() => {
        const order = (window.order = []);
        const [ask, read] = [window.fetch, Storage.prototype.getItem];
        window.fetch = (...how) => (order.push("asked"), ask(...how));
        Storage.prototype.getItem = function (key) {
            order.push("kept");
            return read.call(this, key);
        };
    });
    /** Open a path with app.js held back until `first` was asked for. */
    const visit = async (path, first, shown) => {
        const asked = [];
        let seen = () => {};
        // The page before may just be loading the code of items.
        await page.goto("about:blank");
        const early = Promise.race([new Promise((go) => (seen = () => go(true))), new Promise((go) => setTimeout(go, HELD_MS, false).unref())]);
        const note = (request) => {
            const { pathname } = new URL(request.url());
            asked.push(pathname.replace(/^\/assets\/\w+/, ""));
            if (first.every((one) => asked.includes(one))) seen();
        };
        page.on("request", note);
        const name = "**/assets/*/app.js";
        await page.route(name, async (route) => {
            if (!(await early)) return route.abort();
            const order = await page.evaluate(() => window.order.join(" "));
            expect(/^(asked )*kept$/.test(order), `${path}: what the browser keeps is not opened behind the requests: ${order}`);
            await route.continue();
        });
        await page.goto(settings.url + path, { waitUntil: "commit" });
        expect(await early, `${path}: ${first.filter((one) => !asked.includes(one))} is not asked for before the code is there`);
        await page.locator(shown).first().waitFor();
        page.off("request", note);
        await page.unroute(name);
        for (const one of first) same(asked.filter((path) => path === one).length, 1, `${path}: requests for ${one}`);
    };
    const { issue, report } = settings;
    await visit("/p/default/issues", ["/api/v1/session", "/api/v1/issues"], ".issue-link");
    await visit("/p/default/issues?query=&since=14d&sort=reports", ["/api/v1/session", "/api/v1/issues"], ".issue-link");
    await visit(`/p/default/issues/${issue}?query=is%3Aopen%20version%3A1&since=14d`, ["/api/v1/session", `/api/v1/issues/${issue}`, "/rest.js"], ".issue-title h1");
    await visit(`/p/default/reports/${report}`, ["/api/v1/session", `/api/v1/reports/${report}`, "/rest.js"], ".report-screen .frame");
    await visit("/p/default/symbols", ["/api/v1/session", "/rest.js"], "main h1");

    // The bar does not wait for a list that takes long.
    const list = /\/api\/v1\/issues\?/;
    await page.route(list, async (route) => {
        await page.locator(".bar-nav").waitFor();
        await route.continue();
    });
    await page.goto(`${settings.url}/p/default/issues`);
    await page.locator(".issue-link").first().waitFor();
    await page.unroute(list);

    // The code of what one opens next comes without a click.
    await page.goto(`${settings.url}/p/default/issues?query=`);
    await page.waitForFunction(() => performance.getEntriesByType("resource").some(({ name }) => name.endsWith("/rest.js")));

    // What the newest report says is beside the number.
    await page.goto(`${settings.url}/p/default/issues?query=app%3Acom.acme.early`);
    const facts = page.locator(".issue-facts").first();
    await facts.getByText("SIGSEGV: a reason").waitFor();

    // Without a session the answers are refusals: who logs in does not get those.
    await page.context().clearCookies();
    await page.goto(`${settings.url}/p/default/issues`);
    await page.getByLabel("Token").fill(settings.token);
    await page.getByRole("button", { name: "Log in", exact: true }).click();
    await page.locator(".issue-link").first().waitFor();
}
