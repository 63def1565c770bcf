/** Tokens: one is made, shown once, works, and is revoked; labels are text, whatever they hold. */
const HOSTILE = '<img src=x onerror="window.pwned=1">';

export default async function ({ open, settings, expect, same }) {
    const page = await open({ path: "/p/default/settings/tokens", allow: ["status of 401", "status of 415"] });
    const works = (token) => page.evaluate(async ([url, text]) => {
        const response = await fetch(`${url}/api/v1/issues`, { headers: { Authorization: `Bearer ${text}` }, credentials: "omit" });
        return response.status;
    }, [settings.url, token]);
    await page.getByRole("button", { name: "New token or key" }).click();
    await page.getByLabel(/^Label/).fill(HOSTILE);
    await page.getByRole("checkbox", { name: /ingest/ }).uncheck();
    expect(await page.getByRole("button", { name: "Make it" }).isDisabled(), "a token without a scope cannot be made");
    await page.getByRole("checkbox", { name: /^read/ }).check();
    await page.getByRole("button", { name: "Make it" }).click();
    const token = await page.locator(".once-text").textContent();
    same(await works(token), 200, "the new token");
    const row = page.getByRole("row").filter({ hasText: HOSTILE });
    expect((await row.textContent()).includes("read"), "the token in the list");
    if (settings.shots) await page.screenshot({ path: `${settings.shots}/tokens.png` });
    await page.reload();
    await row.waitFor();
    same(await page.getByText(token).count(), 0, "the token is not shown again");
    await row.getByRole("button", { name: /^Revoke/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
    await row.getByText("revoked", { exact: true }).waitFor();
    same(await works(token), 401, "the revoked token");

    // A key for an app goes straight into the snippets.
    await page.getByRole("link", { name: "Connect an app" }).click();
    await page.getByRole("button", { name: "Make a key" }).click();
    const key = page.getByLabel("Ingest key");
    await page.waitForFunction(() => document.querySelector(".snippets input").value.length > 20);
    expect((await page.getByRole("region", { name: /^Snippet/ }).textContent()).includes(`/kscrash/${await key.inputValue()}`), "the key in the snippet");
    const sent = await page.evaluate(async (text) => (await fetch(`/kscrash/${text}`, { method: "POST", body: "{}", credentials: "omit" })).status, await key.inputValue());
    // The key is accepted, and {} is not a report.
    same(sent, 415, "the answer to the new key");
    same(await page.evaluate(() => window.pwned), undefined, "what a script would have set");
}
