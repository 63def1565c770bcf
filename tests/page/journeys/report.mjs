/** A report: its threads, the search through all frames, what is known of a frame, and the way to the next report. */
export default async function ({ open, settings, expect, same }) {
    const page = await open({ path: "/p/default/reports?query=app:com.example.demo" });
    await page.locator(".issue-link").first().click();
    await page.getByRole("heading", { level: 1, name: "shop::price_of" }).waitFor();
    await page.getByText("Bad memory access at 0x8: 8 bytes past nil").waitFor();
    await page.getByRole("table", { name: "Variables of shop::cart::total() const" }).waitFor();
    // How the frame was found, and where its name comes from.
    await page.getByRole("button", { name: "Frame 0: details" }).click();
    const detail = await page.locator(".frame-detail").textContent();
    for (const text of ["from the registers of the thread", "debug information of the dSYM", "_ZNK4shop4cart5totalEv", "Demo + 0x4140"]) {
        expect(detail.includes(text), `${text} in the details: ${detail}`);
    }
    // Registers say what they point to.
    await page.getByRole("button", { name: /\d+ registers/ }).click();
    const registers = await page.locator(".registers").textContent();
    expect(registers.includes("Demo + 0x4140") && registers.includes("its stack"), registers);
    const crumbs = await page.locator(".crumb").allTextContents();
    expect(crumbs.some((text) => text.includes("28 s before") && text.includes("Catalogue")), crumbs.join("\n"));
    // Files keep their names.
    await page.getByRole("button", { name: "Download" }).click();
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "All of it, .json" }).click()]);
    same(file.suggestedFilename().endsWith(".json"), true, file.suggestedFilename());

    // The two reports of the issue, by keyboard.
    const first = page.url();
    await page.getByRole("button", { name: "Older report of the issue" }).and(page.locator(":enabled")).waitFor();
    await page.keyboard.press("n");
    await page.waitForURL((url) => url.href !== first);
    await page.getByRole("button", { name: "Newer report of the issue" }).and(page.locator(":enabled")).waitFor();
    expect(await page.getByRole("button", { name: "Older report of the issue" }).isDisabled(), "there is no third report");
    await page.keyboard.press("p");
    await page.waitForURL(first);

    // From the issue to all of its report, and back.
    await page.getByRole("link", { name: "Open the issue" }).click();
    await page.getByRole("link", { name: "All threads" }).click();
    await page.getByRole("button", { name: "Frame 0: details" }).waitFor();

    // A report with as many threads as one may have is shown at once, and all its frames are searched.
    await page.goto(`${settings.url}/p/default/reports/${settings.big}`);
    await page.locator(".thread").first().waitFor();
    const crashed = await page.locator(".thread-head").first().textContent();
    expect(crashed.includes("Thread 300") && crashed.includes("crashed"), `the crashed thread is first: ${crashed}`);
    expect((await page.locator("main *").count()) < 12000, "only what is open is drawn");
    await page.keyboard.press("/");
    await page.keyboard.type("needle");
    await page.getByText("1 of 2").waitFor();
    same(await page.locator(".frame.marked .function").textContent(), "needle_a()", "the first frame found");
    await page.keyboard.press("Enter");
    await page.getByText("2 of 2").waitFor();
    same(await page.locator(".frame.marked .function").textContent(), "needle_b()", "the next one");
    expect(await page.locator(".frame.marked").evaluate((one) => one.getBoundingClientRect().top > 0 && one.getBoundingClientRect().bottom < innerHeight), "it is in the window");
    // A long reason is cut until one asks for it.
    await page.getByRole("button", { name: "show all 100,000 characters" }).click();
    same((await page.locator(".crash-why").textContent()).length, 100000, "the whole reason");

    // Breadcrumbs of any shape are shown as they are.
    const odd = await page.locator(".crumb").allTextContents();
    for (const text of ["plain text", '{"deep":1}', "all of it"]) expect(odd.some((one) => one.includes(text)), `${text} in ${odd.join("\n")}`);

    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Do it again" }).click();
    await page.getByText("The report is being done again").waitFor();

    // Deleted after a question, and gone from the list.
    await page.goto(`${settings.url}/p/default/reports/${settings.big}`);
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("The report was deleted").waitFor();
    await page.locator(".issue-link").first().waitFor();
    same(await page.locator(`a[href$="${settings.big}"]`).count(), 0, "the deleted report in the list");
}
