/** Every screen by Tab alone: each control is reached, the focus is seen, there is no trap, and what opens gives the focus back. */
const MOST = 400;

/** Mark the controls that Tab must reach; how many they are. Of a list that the arrow keys or j and k walk through, that is one. */
function wanted() {
    const isShown = (one) => one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length > 0;
    return [...document.querySelectorAll("#app :is(a[href], button, input, select, textarea, summary, [tabindex='0'])")]
        .filter((one) => !one.disabled && one.tabIndex >= 0 && isShown(one)).map((one) => (one.dataset.walk = "")).length;
}

/** What has the focus: whether it was there before, is seen, and is in the window. */
function focused() {
    const one = document.activeElement;
    if (!one || one === document.body) return null;
    const { walk } = one.dataset;
    if (walk === "") one.dataset.walk = "seen";
    const box = one.getBoundingClientRect();
    // What is drawn differs with and without the focus: on the element, or on the row or field around it.
    const looks = () => {
        const parts = [];
        for (let at = one, up = 0; up < 5 && at; at = at.parentElement, up++) {
            const { outlineStyle, outlineWidth, outlineColor, boxShadow } = getComputedStyle(at);
            parts.push(parseFloat(outlineWidth) && outlineStyle !== "none" ? outlineColor : "", boxShadow);
        }
        return parts.join();
    };
    const before = looks();
    one.blur();
    const after = looks();
    one.focus({ preventScroll: true });
    const name = `${one.tagName} ${(one.getAttribute("aria-label") ?? one.textContent).trim().slice(0, 40)}`;
    return { name, walk, isDrawn: before !== after, isInside: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth };
}

export default async function ({ open, settings, expect, same }) {
    const page = await open({ path: "/p/default/issues", viewport: { width: 1280, height: 900 } });
    for (const { path, wait } of settings.screens) {
        await page.goto(settings.url + path);
        await page.locator(wait).first().waitFor();
        await page.locator(".skeleton").first().waitFor({ state: "detached" });
        const n = await page.evaluate(wanted);
        await page.evaluate(() => document.activeElement.blur());
        let seen = 0, isAround = false;
        for (let i = 0; i < MOST; i++) {
            await page.keyboard.press("Tab");
            const now = await page.evaluate(focused);
            // The end of the document: the browser's own bar.
            // After the last control comes the browser's own bar, then the first one.
            if (!now) continue;
            isAround = now.walk === "seen";
            if (isAround) break;
            seen += now.walk === "";
            expect(now.isDrawn, `${path}: the focus of ${now.name} is not seen`);
            expect(now.isInside, `${path}: ${now.name} has the focus outside of the window`);
        }
        const left = await page.evaluate(() => [...document.querySelectorAll("[data-walk='']")].map((one) => one.outerHTML.slice(0, 120)));
        expect(isAround && !left.length, `${path}: Tab reached ${seen} of ${n}; not ${left.slice(0, 5).join(" ")}`);
    }
    // What opens takes the focus, and gives it back to what opened it.
    for (const { path, wait, button, item, role } of settings.opens) {
        await page.goto(settings.url + path);
        await page.locator(wait).first().waitFor();
        const opener = page.getByRole("button", { name: button }).first();
        await opener.focus();
        await page.keyboard.press("Enter");
        if (item) {
            await page.getByRole("menuitem", { name: item }).focus();
            await page.keyboard.press("Enter");
        }
        const opened = page.getByRole(role).first();
        await opened.waitFor();
        expect(await opened.evaluate((one) => one.contains(document.activeElement)), `${path}: ${button} does not take the focus`);
        if (role === "dialog") {
            for (let i = 0; i < 20; i++) {
                await page.keyboard.press("Tab");
                const isOut = await page.evaluate(() => document.activeElement !== document.body && !document.querySelector("dialog")?.contains(document.activeElement));
                expect(!isOut, `${path}: Tab leaves the dialog of ${button}`);
            }
        }
        await page.keyboard.press("Escape");
        await opened.waitFor({ state: "detached" });
        same(await opener.evaluate((one) => one === document.activeElement), true, `${path}: the focus is back on ${button}`);
    }
    console.log(`keyboard: ${settings.screens.length} screens, ${settings.opens.length} menus and dialogs`);
}
