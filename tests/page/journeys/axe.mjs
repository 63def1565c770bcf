/**
 * Every screen, light and dark, narrow and wide, and at 200 %: nothing that axe-core finds wrong (WCAG 2.2 AA), and nothing beyond the window's side.
 * With FRAMEZERO_LOOKS=all every size in both themes.
 */
import fs from "node:fs";
import process from "node:process";

// 1,280 px at 400 % are 320, at 200 % 640.
const SIZES = [[320, 640], [360, 800], [640, 450], [1280, 900], [1920, 1080]];
const ALL = ["light", "dark"].flatMap((theme) => SIZES.map(([width, height]) => [theme, width, height]));
// Without `all` the phone's layout and the wide one are in both themes, and what is not beyond the window's side is seen at every size.
const LOOKS = process.env.FRAMEZERO_LOOKS === "all" ? ALL : [["light", 320, 640], ["dark", 640, 450], ["light", 1280, 900], ["dark", 1920, 1080]];

export default async function ({ open, settings }) {
    const axe = fs.readFileSync(settings.axe, "utf8");
    const found = [];
    const check = async (page, what) => {
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run(document, {
            runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
        }));
        for (const one of violations) found.push(`${what}: ${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.failureSummary}`).join(" | ")}`);
    };
    const measure = async (page, what) => {
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (wide > 0) found.push(`${what}: ${wide} px wider than the window`);
    };
    const drawn = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    let n = 0;
    for (const [colorScheme, width, height] of LOOKS) {
        for (const loggedIn of [true, false]) {
            const screens = settings.screens.filter((one) => (one.loggedIn ?? true) === loggedIn);
            if (!screens.length) continue;
            const page = await open({ loggedIn, path: screens[0].path, colorScheme, reducedMotion: "reduce", viewport: { width, height }, allow: ["status of 40"] });
            for (const { name, path, wait, keys = [], click = [] } of screens) {
                await page.goto(settings.url + path);
                await page.locator(wait).first().waitFor();
                for (const one of click) await page.locator(one).first().click();
                for (const key of keys) await page.keyboard.press(key);
                // Which control the sticky bar covers half is a matter of how far one has scrolled.
                await page.evaluate(() => scrollTo(0, 0));
                await drawn(page);
                await check(page, `${name} ${colorScheme} ${width}`);
                await measure(page, `${name} ${width}`);
                n++;
                if (LOOKS === ALL || width !== LOOKS.at(-1)[1]) continue;
                for (const [other, high] of SIZES) {
                    await page.setViewportSize({ width: other, height: high });
                    await drawn(page);
                    await measure(page, `${name} ${other}`);
                }
                await page.setViewportSize({ width, height });
            }
            await page.context().close();
        }
    }
    console.log(`axe: ${n} pages, ${found.length} violations`);
    if (found.length) throw new Error(found.join("\n"));
}
