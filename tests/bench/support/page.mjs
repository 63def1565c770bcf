/** The browser's part of bench page: page.mjs SETTINGS. Prints JSON. */
import process from "node:process";

const settings = JSON.parse(process.argv[2]);
const { chromium } = await import(settings.playwright);

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--enable-precise-memory-info"];
const ROWS = 1000;
const LONG_MS = 50;
/** @type {{screens: Record<string, any>, notes: Record<string, string>}} */
const found = { screens: {}, notes: {} };
/** @type {Record<string, {total: number, api: number}[]>} */
const samples = {};

const isWanted = (name) => !settings.only || settings.only === name;
const say = (text) => process.stderr.write(`page: ${text}\n`);

/** Runs in the browser before the page: when something is drawn, and what requests took meanwhile. */
function watch() {
    const isThere = (selector) => {
        const one = document.querySelector(selector);
        return one && !document.querySelector(".stale, .skeleton");
    };
    window.bench = {
        /** Until `selector` is drawn, and nothing is grey. */
        drawn: (selector, from) => new Promise((resolve, reject) => {
            setTimeout(() => reject(new Error(`${location}: ${selector} is not drawn`)), 10000);
            const look = () => {
                if (!isThere(selector)) return false;
                watcher.disconnect();
                // The frame that shows it ends before a task that its beginning posts.
                requestAnimationFrame(() => {
                    const { port1, port2 } = new MessageChannel();
                    port1.onmessage = () => resolve(bench.times(from, performance.now()));
                    port2.postMessage(0);
                });
                return true;
            };
            const watcher = new MutationObserver(look);
            if (!look()) watcher.observe(document, { childList: true, subtree: true, attributes: true });
        }),
        times: (from, to) => {
            const asked = performance.getEntriesByType("resource").filter((one) => one.name.includes("/api/") && one.startTime >= from && one.responseEnd <= to && one.responseEnd > 0);
            let [api, until] = [0, from];
            for (const one of asked.sort((a, b) => a.startTime - b.startTime)) {
                api += Math.max(0, one.responseEnd - Math.max(one.startTime, until));
                until = Math.max(until, one.responseEnd);
            }
            return { total: to - from, api };
        },
        click: (link, selector) => {
            performance.clearResourceTimings();
            const from = performance.now();
            const there = document.querySelector(link);
            if (!there) throw new Error(`there is no ${link}`);
            there.click();
            return bench.drawn(selector, from);
        },
        /** Scroll like a wheel that is turned fast, and give the length of each frame. */
        scroll: (to, step) => new Promise((resolve) => {
            const frames = [];
            let last = performance.now();
            const turn = (now) => {
                frames.push(now - last);
                last = now;
                const was = scrollY;
                scrollBy(0, step);
                if (scrollY === was || (step > 0 ? scrollY >= to : scrollY <= to)) resolve(frames.slice(1));
                else requestAnimationFrame(turn);
            };
            requestAnimationFrame(turn);
        }),
    };
    bench.first = bench.drawn(".issue-link, .missing-name, .empty", 0);
    performance.setResourceTimingBufferSize(5000);
    bench.tasks = [];
    new PerformanceObserver((list) => bench.tasks.push(...list.getEntries().map((one) => one.duration))).observe({ type: "longtask" });
}

const sorted = (all) => [...all].sort((a, b) => a - b);
const at = (all, part) => sorted(all)[Math.min(all.length - 1, Math.floor(all.length * part))];

function add(name, times) {
    (samples[name] ??= []).push(times);
}

/** What `run` gives, with the CPU time that the page's thread needed for it: this is the same on a busy machine. */
async function timed(page, run) {
    const cpu = async () => (await page.devtools.send("Performance.getMetrics")).metrics.find((one) => one.name === "TaskDuration").value;
    const before = await cpu();
    const times = await run();
    return { ...times, cpu: ((await cpu()) - before) * 1000 };
}

/** A page of a new profile: nothing is cached. */
async function open(browser, path) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    await context.request.post(`${settings.url}/api/v1/session`, { data: { token: settings.token } });
    await context.addInitScript(watch);
    const page = await context.newPage();
    page.setDefaultTimeout(20000);
    page.on("console", (message) => message.type() === "error" && say(message.text()));
    page.on("pageerror", (error) => say(error.stack));
    page.devtools = await context.newCDPSession(page);
    await page.devtools.send("Performance.enable", { timeDomain: "threadTicks" });
    page.first = timed(page, async () => {
        await page.goto(settings.url + path, { waitUntil: "commit" });
        // Not page.evaluate(), which has the page's thread compile and run what playwright needs.
        const { result } = await page.devtools.send("Runtime.evaluate", { expression: "bench.first", awaitPromise: true, returnByValue: true });
        return result.value;
    });
    await page.first;
    return page;
}

/** What is in one round, after the first visit: link to click, and what is drawn then. */
const nav = (name) => `.bar-nav a[href="/p/default/${name}"]`;
const WALK = [
    ["issue", ".issue-row:nth-child(9) .issue-link, .virtual-row:nth-child(7) .issue-link", ".issue-aside .bars"],
    ["issues again", nav("issues"), ".issue-link"],
    ["reports", nav("reports"), ".report-row .issue-link"],
    ["report", ".report-row .issue-link", ".report-screen .frame"],
    ["versions", nav("versions"), ".chart-area"],
    ["symbols", nav("symbols"), ".missing-name, .empty"],
    ["settings", nav("settings"), ".snippets"],
    ["settings: alerts", "a[href$='settings/alerts']", "main h2"],
];

async function screens(browser) {
    for (let round = 0; round < settings.rounds; round++) {
        const page = await open(browser, "/p/default/issues");
        add("first visit", await page.first);
        const quiet = () => page.waitForLoadState("networkidle");
        for (const [name, link, selector] of WALK) {
            await quiet();
            add(name, await timed(page, () => page.evaluate(([a, b]) => bench.click(a, b), [link, selector])));
        }
        await quiet();
        await page.evaluate(([a, b]) => bench.click(a, b), [nav("issues"), ".issue-link"]);
        await quiet();
        add("large issue", await timed(page, () => page.evaluate((n) => bench.click(`.issue-link[href*="/issues/${n}?"]`, ".issue-aside .bars"), settings.largest)));
        add("large issue: stack", await timed(page, () => page.evaluate(() => bench.drawn(".stack .frame", performance.now()))));
        await page.context().close();
        say(`round ${round + 1} of ${settings.rounds}`);
    }
}

async function largest(browser) {
    for (let round = 0; round < settings.rounds; round++) {
        const page = await open(browser, "/p/default/symbols");
        await page.waitForLoadState("networkidle");
        await page.evaluate((id) => {
            const link = Object.assign(document.createElement("a"), { href: `/p/default/reports/${id}`, id: "bench" });
            document.querySelector("main").append(link);
        }, settings.big);
        add("largest report", await timed(page, () => page.evaluate(() => bench.click("#bench", ".report-screen .frame"))));
        await page.context().close();
        say(`largest report ${round + 1} of ${settings.rounds}`);
    }
}

async function scroll(browser) {
    const page = await open(browser, "/p/default/issues?query=");
    const count = () => page.evaluate(() => Number(document.querySelector(".issues").getAttribute("aria-rowcount")) - 1);
    while (await count() < ROWS) {
        await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
        await page.waitForTimeout(100);
    }
    await page.evaluate(() => scrollTo(0, 0));
    const runs = [];
    for (let run = 0; run < settings.rounds; run++) {
        await page.evaluate(() => (bench.tasks.length = 0));
        const frames = await page.evaluate((up) => bench.scroll(up ? 0 : 52000, up ? -300 : 300), run % 2);
        runs.push({ frames, tasks: await page.evaluate(() => bench.tasks) });
    }
    const all = runs.flatMap((one) => one.frames);
    const tasks = runs.flatMap((one) => one.tasks);
    found.notes[`${await count()} rows scrolled`] = `${all.length} frames, median ${at(all, 0.5).toFixed(1)}, p99 ${at(all, 0.99).toFixed(1)}, longest ${Math.max(...all).toFixed(1)} ms; ` +
        `over ${LONG_MS} ms: ${all.filter((one) => one > LONG_MS).length} frames, ${tasks.length} tasks of the page`;
    await page.context().close();
}

async function heap(browser) {
    const page = await open(browser, "/p/default/issues");
    const { devtools } = page;
    const now = async () => {
        await devtools.send("HeapProfiler.collectGarbage");
        const { metrics } = await devtools.send("Performance.getMetrics");
        const get = (name) => metrics.find((one) => one.name === name).value;
        return `${(get("JSHeapUsedSize") / 1e6).toFixed(1)} MB ${get("Nodes")} nodes ${get("JSEventListeners")} listeners`;
    };
    const all = [await now()];
    const walk = WALK.slice(0, 8);
    for (let change = 0; change < 200; change++) {
        const [, link, selector] = walk[change % walk.length];
        await page.waitForLoadState("networkidle");
        if (change % walk.length === 0 && change) await page.evaluate(([a, b]) => bench.click(a, b), [nav("issues"), ".issue-link"]);
        await page.evaluate(([a, b]) => bench.click(a, b), [link, selector]);
        if (change % 50 === 49) all.push(await now());
    }
    found.notes["heap after 0, 50, 100, 150, 200 screens"] = all.join("; ");
    await page.context().close();
}

const browser = await chromium.launch({ executablePath: settings.chromium, args: FLAGS });
try {
    for (const part of [screens, largest, scroll, heap]) if (isWanted(part.name)) await part(browser);
} finally {
    await browser.close();
}
for (const [name, all] of Object.entries(samples)) {
    const of = (key) => all.map((one) => one[key]);
    found.screens[name] = { n: all.length, median: at(of("total"), 0.5), p95: at(of("total"), 0.95), api: at(of("api"), 0.5), cpu: at(of("cpu"), 0.5),
        page: at(all.map((one) => one.total - one.api), 0.5), samples: all };
}
console.log(JSON.stringify(found));
