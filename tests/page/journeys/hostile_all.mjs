/** Every screen of reports of all formats whose texts are hostile, with everything unfolded: nothing runs, and nothing is wider than the window. */
const WIDTHS = [1280, 360];
const MOST_CLICKS = 60, LEVELS = 6;

/** What is wrong with the screen that is shown. */
function faultsOf() {
    const found = [];
    const wide = document.documentElement.scrollWidth - innerWidth;
    const isClipped = (one) => {
        for (let at = one.parentElement; at; at = at.parentElement) if (getComputedStyle(at).overflowX !== "visible") return true;
        return false;
    };
    if (wide > 0) {
        const out = [...document.querySelectorAll("#app *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !isClipped(one));
        found.push(`${wide} px wider than the window: ${out.slice(-4).map((one) => `${one.tagName}.${one.getAttribute("class")}`)}`);
    }
    if (window.pwned !== undefined) found.push("a script ran");
    for (const one of document.querySelectorAll("img, iframe, object, embed, base, meta[http-equiv], form[action], math, xmp")) found.push(`an element: ${one.outerHTML.slice(0, 100)}`);
    if (document.querySelectorAll("script:not([src$='/early.js'], [src$='/app.js'])").length) found.push("a script element");
    if (document.querySelectorAll("style").length) found.push("a style element");
    for (const one of document.querySelectorAll("#app *")) for (const name of one.getAttributeNames()) if (name.startsWith("on")) found.push(`an attribute: ${name}`);
    for (const one of document.querySelectorAll("a[href]")) if (!/^(https?|blob):$/.test(one.protocol)) found.push(`a link: ${one.href.slice(0, 80)}`);
    // Text of the other direction must not turn what is beside it: a dialog, a bar, a row.
    if (document.querySelector("main")?.getBoundingClientRect().width < 100) found.push("main is squeezed");
    return found;
}

/** Unfold all that is folded; how much that was. */
function unfold(most) {
    for (let i = 0; ; i++) {
        const one = [...document.querySelectorAll("main [aria-expanded=false]")].find((button) => !button.matches("[aria-haspopup], input, [data-clicked]"));
        if (!one || i === most) return i;
        one.dataset.clicked = "";
        one.click();
    }
}

export default async function ({ open, settings, expect }) {
    const page = await open({ path: "/p/default/issues?query=", allow: ["status of 40"] });
    await page.evaluate((texts) => localStorage.setItem("framezero.filters.default", JSON.stringify(texts.map((text) => ({ name: text, query: text, since: text, sort: text })))), settings.texts);
    await page.evaluate((text) => localStorage.setItem("framezero.source.default", JSON.stringify({ template: `https://evil.example/${text}{path}`, prefix: text })), settings.texts[0]);
    const asked = new Set();
    // The stream of events lasts.
    page.on("request", (request) => request.resourceType() !== "eventsource" && asked.add(request));
    for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => asked.delete(request));
    const wrong = [];
    const seen = new Set();
    let views = 0;
    const check = async (what, widths = WIDTHS) => {
        for (const width of widths) {
            await page.setViewportSize({ width, height: 900 });
            for (const fault of await page.evaluate(faultsOf)) wrong.push(`${what} at ${width}: ${fault}`);
            views++;
        }
        const text = await page.evaluate(() => document.body.textContent);
        for (const one of [...settings.texts, ...settings.needed]) {
            if (text.includes(one.trim().slice(0, 60))) seen.add(one);
        }
    };
    for (const path of settings.paths) {
        await page.goto(settings.url + path);
        await page.locator("main h1, main .empty").first().waitFor({ state: "attached" });
        // Its "networkidle" is half a second each time.
        for (let calm = 0; calm < 2; calm = asked.size ? 0 : calm + 1) await page.waitForTimeout(40);
        // What was unfolded has more, as values have fields.
        for (let left = LEVELS; left && (await page.evaluate(unfold, MOST_CLICKS)); left--) await page.waitForTimeout(50);
        await check(path);
    }
    // What opens over a screen.
    for (const [path, name] of [["issues?query=", "Filters"], ["issues?query=", "Query"]]) {
        for (const width of WIDTHS) {
            await page.setViewportSize({ width, height: 900 });
            await page.goto(`${settings.url}/p/default/${path}`);
            await page.locator(".issue-link").first().waitFor();
            if (name === "Query") await page.locator("input[role=combobox]").first().fill(settings.texts[1]);
            else await page.getByRole("button", { name: /filters/i }).first().click();
            await page.waitForTimeout(300);
            await check(name, [width]);
        }
    }
    expect(!wrong.length, `${wrong.length} faults:\n${wrong.join("\n")}`);
    const unseen = settings.texts.filter((one) => !seen.has(one));
    expect(unseen.length < settings.texts.length / 5, `texts that no screen showed: ${unseen}`);
    const missing = settings.needed.filter((one) => !seen.has(one));
    expect(!missing.length, `names and values of variables that no screen showed: ${missing}`);
    console.log(`${views} views of ${settings.paths.length} screens without a fault`);
}
