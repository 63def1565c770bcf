/**
 * The page of the bench of live updates: live.mjs SETTINGS. A line "measure" on standard input is answered with a line of figures, the end of
 * standard input ends it.
 */
import process from "node:process";
import readline from "node:readline";

const settings = JSON.parse(process.argv[2]);
const { chromium } = await import(settings.playwright);
const browser = await chromium.launch({ executablePath: settings.chromium, args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
await context.request.post(`${settings.url}/api/v1/session`, { data: { token: settings.token } });
// An hour in minutes: the page waits for so much shorter.
await context.addInitScript((factor) => {
    const later = window.setTimeout.bind(window);
    window.setTimeout = (call, ms = 0, ...more) => later(call, ms / factor, ...more);
}, settings.factor);
const page = await context.newPage();
let loads = 0;
page.on("response", (response) => response.url().includes("/api/v1/issues?") && loads++);
await page.goto(`${settings.url}/p/default/issues`);
await page.locator(".issue-link").first().waitFor();
const cdp = await context.newCDPSession(page);
await cdp.send("Performance.enable");

if (settings.rows) {
    const count = () => page.evaluate(() => Number(document.querySelector(".issues").getAttribute("aria-rowcount")) - 1);
    while (await count() < settings.rows) {
        await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
        await page.waitForTimeout(50);
    }
}

/** Bytes of the heap of scripts: of code, and of all else. @returns {Promise<{code: number, objects: number}>} */
async function parts() {
    const chunks = [];
    const add = ({ chunk }) => chunks.push(chunk);
    cdp.on("HeapProfiler.addHeapSnapshotChunk", add);
    await cdp.send("HeapProfiler.takeHeapSnapshot");
    cdp.off("HeapProfiler.addHeapSnapshotChunk", add);
    const { snapshot: { meta }, nodes } = JSON.parse(chunks.join(""));
    const [type, size, step] = [meta.node_fields.indexOf("type"), meta.node_fields.indexOf("self_size"), meta.node_fields.length];
    const sum = { code: 0, objects: 0 };
    for (let at = 0; at < nodes.length; at += step) {
        const name = meta.node_types[type][nodes[at + type]];
        // Of the browser itself, not on this heap: its list of requests grows until it has 250.
        if (name !== "native" && name !== "synthetic") sum[name === "code" ? "code" : "objects"] += nodes[at + size];
    }
    return sum;
}

async function measure() {
    for (let turn = 0; turn < 3; turn++) await cdp.send("HeapProfiler.collectGarbage");
    const { metrics } = await cdp.send("Performance.getMetrics");
    const of = (name) => metrics.find((one) => one.name === name)?.value;
    const rows = await page.evaluate(() => Number(document.querySelector(".issues").getAttribute("aria-rowcount")) - 1);
    return { heap: of("JSHeapUsedSize"), nodes: of("Nodes"), listeners: of("JSEventListeners"), loads, rows, ...await parts() };
}
console.log("ready");
for await (const line of readline.createInterface({ input: process.stdin })) {
    if (line === "measure") console.log(JSON.stringify(await measure()));
}
await browser.close();
