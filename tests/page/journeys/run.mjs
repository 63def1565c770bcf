/**
 * Runs one journey in a new browser: run.mjs NAME SETTINGS. It also fails if the page writes an error to the console, breaks its own
 * policy, opens a dialog, or asks anybody but the server for anything.
 */
import process from "node:process";

const [name, json] = process.argv.slice(2);
const settings = JSON.parse(json);
const { chromium } = await import(settings.playwright);

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"];

/** @type {string[]} */
const faults = [];

/** A page that is watched. `how`: options of a browser context; loggedIn: with the cookie of a token, or of settings.login. */
async function open(browser, { loggedIn = true, path = "/", allow = [], ...how } = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...how });
    if (loggedIn) await context.request.post(`${settings.url}/api/v1/session`, { data: settings.login ?? { token: settings.token } });
    await context.addInitScript(() => {
        addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
    });
    const page = await context.newPage();
    page.on("request", (request) => {
        const url = request.url();
        // A page of somebody else, to which the journey goes, asks for what it likes.
        if (settings.other && (url.startsWith(settings.other) || request.frame().url().startsWith(settings.other))) return;
        if (!url.startsWith(`${settings.url}/`) && !url.startsWith("blob:") && !url.startsWith("data:")) faults.push(`a request left the server: ${url}`);
    });
    page.on("console", (message) => {
        const text = message.text();
        if (message.type() === "error" && !allow.some((one) => text.includes(one))) faults.push(`console: ${text} ${message.location().url}`);
    });
    page.on("pageerror", (error) => faults.push(`script error: ${error.stack}`));
    page.on("dialog", (dialog) => (faults.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
    await page.goto(settings.url + path);
    return page;
}

export function expect(condition, what) {
    if (!condition) throw new Error(what);
}

export function same(got, want, what) {
    expect(JSON.stringify(got) === JSON.stringify(want), `${what}: ${JSON.stringify(got)}, expected ${JSON.stringify(want)}`);
}

async function main() {
    const browser = await chromium.launch({ executablePath: settings.chromium, args: FLAGS });
    try {
        const { default: journey } = await import(`./${name}.mjs`);
        await journey({ browser, settings, open: (how) => open(browser, how), expect, same });
    } finally {
        await browser.close();
    }
    if (faults.length) throw new Error(faults.join("\n"));
}

main().catch((error) => {
    console.error([...faults, error.stack].join("\n"));
    process.exit(1);
});
