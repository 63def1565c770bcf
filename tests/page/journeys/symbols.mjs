/** A dSYM is missing: find which one, upload it, and watch the names appear without loading anything again. */
export default async function ({ open, settings, expect, same }) {
    const report = await open({ path: `/p/default/reports/${settings.report}` });
    await report.getByText("its dSYM was not uploaded").first().waitFor();
    const page = await report.context().newPage();
    // The issue and the report both lead to what is to be uploaded.
    await page.goto(`${settings.url}/p/default/issues/1`);
    await page.getByRole("link", { name: "upload the dSYM" }).click();
    await page.getByLabel("The command", { exact: true }).waitFor();
    await page.goto(report.url());
    await page.getByRole("link", { name: "What to upload" }).click();
    // The image of the report is open, with commands that name this server and exactly this build.
    const command = await page.getByLabel("The command", { exact: true }).textContent();
    for (const text of ["4C4C442E-5555-3144-A138-7743844373D8", `--server ${settings.url}`, "--project default", "framezero upload"]) {
        expect(command.includes(text), `${text} in the command: ${command}`);
    }
    // A file that is none says so, and the one after it is sent all the same.
    await page.locator("input[type=file]").setInputFiles([
        { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("no symbol file") },
        { name: "Demo.zip", mimeType: "application/zip", buffer: Buffer.from(settings.zip64, "base64") },
    ]);
    const refused = await page.locator(".sent", { hasText: "notes.txt" }).getByRole("alert").textContent();
    expect(refused.includes("text, no symbol file"), refused);
    const sent = page.locator(".sent", { hasText: "Demo.zip" });
    await sent.getByText("1 report waited for it and got new names.").waitFor();
    same(await sent.locator(".file .badge").allTextContents().then((all) => all.sort()), ["complete", "names only"], "the verdicts");
    await page.getByRole("heading", { name: "Nothing is missing" }).waitFor();
    await page.getByRole("heading", { name: "2 symbol files" }).waitFor();
    // The report that is open in the other tab gets its names by itself.
    await report.bringToFront();
    await report.getByText("shop::cart::total() const", { exact: true }).waitFor({ timeout: 25000 });
    same(await report.getByText("its dSYM was not uploaded").count(), 0, "frames without names");

    // Dropped on the page, anywhere: it was there already.
    await page.bringToFront();
    const data = await page.evaluateHandle(([text]) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([Uint8Array.from(atob(text), (one) => one.charCodeAt(0))], "again.zip"));
        return transfer;
    }, [settings.zip64]);
    await page.dispatchEvent("body", "drop", { dataTransfer: data });
    const again = page.locator(".sent", { hasText: "again.zip" });
    await again.getByText("was there").first().waitFor();
    await again.getByText("No report waited for it.").waitFor();

    await page.getByRole("button", { name: "Delete Demo" }).first().click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("No file was uploaded yet.").waitFor();
}
