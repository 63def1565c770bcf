/** An empty project: from the first steps to a crash with names and values, and the snippets for one's own app. */
export default async function ({ open, settings, expect, same }) {
    const page = await open({ path: "/", allow: ["status of 404"] });
    const shot = (name) => settings.shots && page.screenshot({ path: `${settings.shots}/${name}.png`, fullPage: true });
    // The empty lists lead here.
    await page.goto(`${settings.url}/p/default/reports`);
    await page.getByRole("link", { name: "First steps" }).waitFor();
    await page.goto(`${settings.url}/p/default/issues`);
    await page.getByRole("link", { name: "First steps" }).click();
    await page.getByRole("heading", { level: 1, name: "First steps" }).waitFor();
    same(new URL(page.url()).pathname, "/p/default/start", "the address");
    const send = page.getByRole("button", { name: "Send the sample crash" });
    const upload = page.getByRole("button", { name: "Upload the sample’s dSYM" });
    await send.waitFor();
    expect(await upload.isDisabled(), "the second step waits for the first");
    expect(await page.getByLabel("Show values of variables in this project").isChecked(), "values are asked for");
    await shot("start-1");
    await send.click();
    await page.getByText("Send a crash: done").waitFor();
    // A reload finds what was done.
    await page.reload();
    await page.getByText("Send a crash: done").waitFor();
    await shot("start-2");
    await upload.click();
    await page.getByText("Upload its symbols: done").waitFor({ timeout: 40000 });
    await shot("start-3");

    // The snippets have this server's address, and the pasted key.
    const snippet = page.getByRole("region", { name: /^Snippet/ });
    expect((await snippet.textContent()).includes(`${settings.url}/kscrash/INGEST_KEY`), "the address in the snippet");
    await page.getByLabel("Ingest key").fill(' fz_abc"\n<b>');
    expect((await snippet.textContent()).includes(`${settings.url}/kscrash/fz_abcb"`), `the key in the snippet: ${await snippet.textContent()}`);
    await page.getByRole("button", { name: "Sentry’s SDK" }).click();
    expect((await snippet.textContent()).includes(`//fz_abcb@${new URL(settings.url).host}/1"`), `the DSN: ${await snippet.textContent()}`);

    await page.getByRole("link", { name: "Open the issue" }).click();
    await page.getByRole("heading", { level: 1, name: "shop::price_of" }).waitFor();
    const variables = page.getByRole("table", { name: "Variables of shop::cart::total() const" });
    await variables.getByText("1050").first().waitFor();
    await page.goBack();
    await page.getByText("Upload its symbols: done").waitFor();
}
