/** A webhook gets a test and a new issue; the log sends again; a receiver that fails is seen to fail. Names and answers are text. */
const HOSTILE = '<img src=x onerror="window.pwned=1">';

export default async function ({ open, settings, expect, same }) {
    const page = await open({ path: "/p/default/settings/alerts", allow: ["status of 400"] });
    const dialog = page.getByRole("dialog");
    const query = page.getByRole("combobox", { name: "Query" });
    const fill = async (name, url) => {
        await page.getByRole("button", { name: "New channel" }).click();
        await page.getByLabel("Name", { exact: true }).fill(name);
        await page.getByLabel(/^URL/).fill(url);
    };
    const save = () => dialog.getByRole("button", { name: /Make it|Save/ }).click();
    await page.getByText("No channel yet").waitFor();
    await fill(HOSTILE, "http://169.254.169.254/");
    await save();
    await dialog.getByRole("alert").waitFor();
    await page.getByLabel(/^URL/).fill(settings.good);
    await query.fill("vesion:4");
    await save();
    await dialog.locator(".query-error").waitFor();
    same(await dialog.locator(".query-mistake mark").textContent(), "vesion:4", "the place of the mistake");
    if (settings.shots) await page.screenshot({ path: `${settings.shots}/channel.png` });
    await query.fill("version:>=4.0");
    await dialog.locator(".query-error").waitFor({ state: "detached" });
    await page.getByRole("checkbox", { name: /release.unhealthy/ }).uncheck();
    await save();
    await dialog.waitFor({ state: "detached" });
    const secret = await page.locator(".once-text").textContent();
    expect(secret.startsWith("whsec_"), "the secret");
    console.log(`first secret: ${secret}`);
    await page.getByRole("button", { name: "Done" }).click();

    await page.getByRole("button", { name: `Test ${HOSTILE}` }).click();
    await page.getByText("answered with status 200").waitFor();
    await fill("broken", settings.bad);
    await save();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Test broken" }).click();
    await page.getByText("not delivered").waitFor();

    const answer = await fetch(`${settings.url}/api/v1/reports?wait=30`, { method: "POST", body: settings.report, headers: { Authorization: `Bearer ${settings.token}` } });
    same(answer.status, 200, "the report");
    const row = page.getByRole("listitem").filter({ has: page.getByRole("button", { name: `Test ${HOSTILE}` }) });
    const created = row.getByRole("listitem").filter({ hasText: "issue.created" });
    await row.getByRole("button", { name: `Log of ${HOSTILE}` }).click();
    for (let i = 0; i < 60 && !(await created.getByText("delivered").count()); i++) {
        await page.waitForTimeout(500);
        await row.getByRole("button", { name: "Load again" }).click();
    }
    await created.getByText("attempt 1: answered with status 200").waitFor();
    await created.getByRole("button", { name: /^Send again/ }).click();
    await page.getByText("It is sent again").waitFor();
    const failing = page.getByText(/^failing since/);
    for (let i = 0; i < 60 && !(await failing.count()); i++) {
        await page.waitForTimeout(500);
        await page.reload();
        await row.waitFor();
    }
    same(await failing.count(), 1, "channels that fail");
    if (settings.shots) {
        await page.getByRole("button", { name: "Log of broken" }).click();
        await page.waitForTimeout(300);
        await page.screenshot({ path: `${settings.shots}/alerts.png` });
    }

    const more = async (name, item) => {
        await page.getByRole("button", { name: `More for ${name}` }).click();
        await page.getByRole("menuitem", { name: item, exact: true }).click();
    };
    await more(HOSTILE, "Change…");
    same(await query.inputValue(), "version:>=4.0", "the query that is changed");
    expect(!(await page.getByRole("checkbox", { name: /release.unhealthy/ }).isChecked()), "the event that was not chosen");
    await query.fill("");
    await page.getByLabel("Name", { exact: true }).fill("ops");
    await save();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Test ops" }).waitFor();
    same(await page.getByText("version:>=4.0").count(), 0, "the query is gone");
    await more("ops", "New secret");
    const next = await page.locator(".once-text").textContent();
    expect(next.startsWith("whsec_") && next !== secret, "another secret");
    await page.reload();
    await page.getByRole("button", { name: "Test ops" }).waitFor();
    same(await page.getByText(next).count(), 0, "the secret is not shown again");
    await page.getByRole("button", { name: "Test ops" }).click();
    await page.getByText("answered with status 200").waitFor();
    await more("ops", "Disable");
    await page.getByText("disabled", { exact: true }).waitFor();
    await more("broken", "Delete…");
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("button", { name: "Test broken" }).waitFor({ state: "detached" });
    same(await page.evaluate(() => window.pwned), undefined, "what a script would have set");
}
