/** Versions: how the newest differs from the one before it, any two, the charts with their tables, and the way to the issues. */
import { rateText } from "../../../server/web/page/lib/versions.js";

export default async function ({ open, settings, expect, same }) {
    same([0.966666, 0.99825, 0.99999, 1, 0, 0.00001].map((rate) => rateText(rate)), ["96.67 %", "99.83 %", "99.99 %", "100 %", "0.00 %", "0.00 %"], "rates as texts");
    const page = await open({ path: "/p/default/versions" });
    const shot = async (name) => {
        if (!settings.shots) return;
        for (const [colorScheme, width] of [["light", 1280], ["dark", 1280], ["light", 360]]) {
            await page.emulateMedia({ colorScheme });
            await page.setViewportSize({ width, height: 900 });
            await page.screenshot({ path: `${settings.shots}/${name}-${colorScheme}-${width}.png`, fullPage: true });
        }
        await page.setViewportSize({ width: 1280, height: 900 });
    };
    const all = page.getByRole("region", { name: "All versions" });
    const row = (name) => all.getByRole("row").filter({ hasText: name });
    const cells = async (line) => (await line.getByRole("cell").allTextContents()).map((text) => text.trim().replace(/\s+/g, " "));
    await row("4.10 (410)").waitFor();
    await page.locator(".chart-area").first().waitFor();
    // The same again is allowed: what is shown is loaded once more when the stream of events opens.
    const asked = await page.evaluate(() =>
        [...new Set(performance.getEntriesByType("resource").map((one) => one.name).filter((one) => one.includes("/api/v1/versions")))]);
    same(asked.length, 1, `requests for the table and the charts, ${asked}`);
    same((await all.getByRole("rowheader").allTextContents()).map((text) => text.trim()), ["4.10 (410)", "4.9 (409)", "4.8 (408)"], "the highest first, by numbers");
    // 4.10: 200 sessions of 400 in all, 20 crashed.
    same((await cells(row("4.10 (410)"))).slice(0, 5), ["50.0 %", "200", "90.00 %", "90.00 %", "1"], "the newest version");
    expect((await cells(row("4.8 (408)")))[2].includes("uncertain"), "few sessions say that they are few");

    // The newest with the one before it, in words.
    const comparison = page.getByRole("region", { name: "The comparison" });
    const line = (name) => comparison.getByRole("row").filter({ has: page.getByRole("rowheader", { name, exact: true }) });
    same(await cells(line("Crash-free sessions")), ["100 %", "90.00 %", "−10.00 points", "worse"], "crash-free sessions compared");
    same((await cells(line("New issues"))).slice(2), ["±0", "no difference"], "new issues compared");
    same((await cells(line("Reports"))).slice(2), ["+1", "more"], "reports compared");
    await shot("versions");

    // Any two, in the address.
    await page.getByLabel("with").selectOption({ label: "4.8 (408)" });
    await page.getByText("4.8 (408) has fewer than 100 sessions").waitFor();
    same(new URL(page.url()).searchParams.get("compare"), "4.8+408..4.10+410", "the address of the comparison");
    same((await cells(line("Crash-free sessions"))).at(-1), "may be chance", "too few to tell");
    await page.reload();
    await page.getByText("4.8 (408) has fewer than 100 sessions").waitFor();
    await page.goto(`${settings.url}/p/default/versions?compare=9.9+9..4.10+410`);
    await page.getByRole("alert").waitFor();

    // Each chart has its numbers as a table.
    await page.getByRole("button", { name: "Adoption as a table" }).click();
    const table = page.getByRole("region", { name: "Adoption, as a table" });
    same((await table.getByRole("columnheader").allTextContents()).slice(1), ["4.10 (410)", "4.9 (409)", "4.8 (408)"], "the lines of the chart");
    expect((await table.getByRole("row").last().textContent()).includes("50.0 %"), "today's adoption");
    same(await table.getByRole("row").count(), 15, "days of the chart");
    await page.getByRole("button", { name: /Time range/ }).click();
    await page.getByRole("menuitemradio", { name: "Last 90 days" }).click();
    same(new URL(page.url()).searchParams.get("since"), "90d", "the range in the address");
    // 13 weeks and the head; the charts of before stay until the new ones are there.
    await page.waitForFunction(() => document.querySelectorAll(".chart-table tr").length === 14);

    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
    expect(/\.csv$/.test(file.suggestedFilename()), file.suggestedFilename());
    await row("4.10 (410)").getByRole("link", { name: "1", exact: true }).first().click();
    await page.waitForURL(/issues\?query=introduced%3A/);
    await page.locator(".issue-link").first().waitFor();
    same(await page.locator(".issue-link").count(), 1, "issues that began with the version");
}
