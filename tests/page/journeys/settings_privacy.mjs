/** Values and memory are off, are turned on with what is redacted, and stay so. */
export default async function ({ open, settings, expect, same }) {
    const page = await open({ path: "/p/default/settings/privacy", allow: ["status of 400"] });
    const project = () => page.evaluate(async () => (await fetch("/api/v1/project?project=default")).json());
    const values = page.getByRole("checkbox", { name: /^Read values/ });
    const memory = page.getByRole("checkbox", { name: /^Keep reports/ });
    await values.waitFor();
    expect(!(await values.isChecked()) && !(await memory.isChecked()), "nothing is kept by default");
    await values.check();
    await memory.check();
    await page.getByLabel("Days until memory is deleted").fill("3");
    await page.getByLabel("Also redact, one on each line").fill("salary\n\n  type:Shop.Card \n");
    await page.getByLabel("Do not redact, one on each line").fill("x".repeat(2000));
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").waitFor();
    same((await project()).values, "off", "what is wrong changes nothing");
    await page.getByLabel("Do not redact, one on each line").fill("tokenCount");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("It counts for reports").waitFor();
    const { values: on, memory: kept, memory_days, redact_allow, redact_deny } = await project();
    same([on, kept, memory_days, redact_allow, redact_deny], ["on", "keep", 3, ["tokenCount"], ["salary", "type:Shop.Card"]], "the settings");
    await page.reload();
    await values.waitFor();
    expect((await values.isChecked()) && (await memory.isChecked()), "what was saved is shown");
    same(await page.getByLabel("Also redact, one on each line").inputValue(), "salary\ntype:Shop.Card", "the entries");
    if (settings.shots) await page.screenshot({ path: `${settings.shots}/privacy.png` });
    await memory.uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await page.waitForFunction(async () => (await (await fetch("/api/v1/project?project=default")).json()).memory === "drop");
}
