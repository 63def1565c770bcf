/** Reports whose every text is hostile: no script runs, nothing leaves the server, nothing is wider than the window. */
const WIDTHS = [1280, 360];

export default async function ({ open, settings, expect, same }) {
    const page = await open({ path: "/p/default/issues?query=", allow: ["status of 40"] });
    await page.locator(".issue-link").first().waitFor();
    const fits = async (what) => {
        for (const width of WIDTHS) {
            await page.setViewportSize({ width, height: 800 });
            const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
            const widest = await page.evaluate(() => [...document.querySelectorAll("main *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1).map((one) => `${one.tagName}.${one.getAttribute("class")}`).slice(0, 8));
            expect(wide <= 0, `${what} at ${width}: ${wide} px wider than the window: ${widest}`);
        }
        same(await page.evaluate(() => window.pwned ?? null), null, `a script of ${what}`);
        same(await page.evaluate(() => document.querySelectorAll("img, iframe, object, embed, base, meta[http-equiv], form[action]").length), 0, `elements of ${what}`);
        same(await page.evaluate(() => [...document.scripts].map((one) => one.src.split("/").at(-1))), ["early.js", "app.js"], `scripts of ${what}`);
    };
    await fits("the list");
    for (const number of settings.numbers) {
        await page.goto(`${settings.url}/p/default/issues/${number}`);
        await page.locator(".stack").waitFor();
        await page.keyboard.press("f");
        await page.keyboard.press("v");
        await page.waitForTimeout(100);
        await fits(`issue ${number}`);
    }
    // What is in the address is hostile, too.
    for (const path of settings.paths) {
        await page.goto(settings.url + path);
        await page.locator("main").waitFor();
        await page.waitForTimeout(200);
        await fits(path);
    }
}
