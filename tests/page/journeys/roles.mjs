/**
 * A walk through all screens as somebody with a role. What the role does not allow is neither offered nor asked for: a request that the server
 * refuses is an error in the console, with which the journey fails. settings: user, role, screens, wanted and unwanted names of buttons by screen.
 */
export default async function ({ open, settings, expect, same }) {
    const page = await open({ path: "/p/default/issues" });
    const refused = [];
    page.on("response", (answer) => answer.status() >= 400 && refused.push(`${answer.status()} ${answer.request().method()} ${answer.url()}`));
    /** The names of all that can be pressed, also of what menus and folded parts have. */
    const offered = async () => {
        const names = new Set();
        const add = async () => {
            for (const name of await page.evaluate(() => [...document.querySelectorAll("main :is(button, a, input, select, textarea, [role=menuitem]):not(:disabled)")]
                .map((one) => (one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent ?? one.textContent).trim().replace(/\s+/g, " ")))) names.add(name);
        };
        await add();
        const menus = page.locator("main [aria-haspopup=menu]");
        for (let i = 0, n = await menus.count(); i < n; i++) {
            await menus.nth(i).click();
            await add();
            await page.keyboard.press("Escape");
        }
        return [...names];
    };
    for (const { path, wait, has = [], hasNot = [], keys = [] } of settings.screens) {
        await page.goto(settings.url + path);
        await page.locator(wait).first().waitFor();
        await page.locator(".skeleton").first().waitFor({ state: "detached" });
        for (const key of keys) await page.keyboard.press(key);
        const names = await offered();
        const matches = (one) => names.some((name) => new RegExp(one).test(name));
        same(has.filter((one) => !matches(one)), [], `what ${settings.role} misses on ${path}, which offers ${names.join(" | ")}`);
        same(hasNot.filter(matches), [], `what ${settings.role} is offered on ${path}`);
        same(await page.getByRole("dialog").count(), 0, `dialogs that keys open on ${path}`);
        expect(!refused.length, `refused: ${refused.join(", ")}`);
    }
    const sections = (await page.getByRole("navigation", { name: "Settings" }).getByRole("link").allTextContents());
    same(sections, settings.sections, `the sections of ${settings.role}`);
    console.log(`${settings.role}: ${settings.screens.length} screens, nothing is refused`);
}
