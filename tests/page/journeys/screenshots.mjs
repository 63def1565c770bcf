/** Pictures of every screen, in both themes, wide and narrow; and the smaller ones that the documents show. No journey: it checks nothing. */
import fs from "node:fs";
import path from "node:path";

const WIDTHS = [1280, 360];
const SMALL_QUALITY = 0.7;

/** A picture as WebP, which is half of its PNG: browsers can write it. */
async function smaller(browser, png, file) {
    const page = await browser.newPage();
    const url = await page.evaluate(async (source) => {
        const { data, quality } = source;
        const image = new Image();
        image.src = `data:image/png;base64,${data}`;
        await image.decode();
        const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
        canvas.getContext("2d").drawImage(image, 0, 0);
        return canvas.toDataURL("image/webp", quality);
    }, { data: png.toString("base64"), quality: SMALL_QUALITY });
    await page.close();
    fs.writeFileSync(file, Buffer.from(url.split(",")[1], "base64"));
}

export default async function ({ browser, open, settings }) {
    for (const loggedIn of [true, false]) {
        for (const colorScheme of ["light", "dark"]) {
            for (const width of WIDTHS) {
                const page = await open({ loggedIn, colorScheme, viewport: { width, height: 800 }, reducedMotion: "reduce", allow: ["status of 40"] });
                for (const { name, path: at, wait, keys = [], click = [], document = "" } of settings.screens.filter((one) => (one.loggedIn ?? true) === loggedIn)) {
                    await page.goto(settings.url + at);
                    await page.locator(wait).first().waitFor();
                    for (const one of click) await page.locator(one).first().click();
                    for (const key of keys) await page.keyboard.press(key);
                    await page.waitForLoadState("networkidle");
                    const look = `${colorScheme}-${width}`;
                    await page.screenshot({ path: path.join(settings.folder, `${name}-${look}.png`), fullPage: true });
                    if (document === look) await smaller(browser, await page.screenshot(), path.join(settings.folder, `${name}.webp`));
                }
                await page.context().close();
            }
        }
    }
}
