/** Rules for masking texts: what they would mask, a mistake, then they count; and off. */
export default async function ({ open, settings, expect, same }) {
    const page = await open({ path: "/p/default/settings/privacy", allow: ["status of 400"] });
    const project = () => page.evaluate(async () => (await fetch("/api/v1/project?project=default")).json());
    const rules = page.getByLabel("Rules, one on each line");
    const use = page.getByRole("button", { name: "Use these rules" });
    await rules.fill("text:order-*\n\n  key:shelf \n");
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByText(/^1 of the newest 1 report would have more masked: 2 × custom/).waitFor();
    const examples = await page.getByRole("list", { name: "Examples" }).getByRole("listitem").allTextContents();
    same(examples.map((text) => text.replace(/\s+/g, " ").trim()), [`${settings.masked} becomes ${settings.after} report`, "\"B7\" becomes [custom] report"], "the examples");
    same(await page.locator(".examples img").count(), 0, "text that became markup");
    same((await project()).scrub_rules, [], "a preview changes nothing");
    if (settings.shots) await page.screenshot({ path: `${settings.shots}/scrub.png` });

    await rules.fill("text:o*");
    same(await page.getByRole("list", { name: "Examples" }).count(), 0, "a preview of other rules");
    await use.click();
    expect(/rule/.test(await page.locator(".form-error[role=alert]").textContent()), "the server says what is wrong");
    same((await project()).scrub_rules, [], "what is wrong changes nothing");

    await rules.fill("text:order-*\n\n  key:shelf \n");
    await use.click();
    await page.getByText("They count for reports").waitFor();
    same((await project()).scrub_rules, ["text:order-*", "key:shelf"], "the rules");
    same((await project()).values, "off", "the other form was not sent");
    const reason = await page.evaluate(async (body) => {
        const sent = await (await fetch("/api/v1/reports?project=default&wait=30", { method: "POST", body })).json();
        return (await (await fetch(`/api/v1/reports/${sent.id}?project=default`)).json()).crash.reason;
    }, settings.report);
    same(reason, settings.after, "a report that comes then");
    await page.reload();
    same(await rules.inputValue(), "text:order-*\nkey:shelf", "what was saved is shown");
    await page.getByRole("checkbox", { name: /^Mask personal data/ }).uncheck();
    await use.click();
    await page.waitForFunction(async () => (await (await fetch("/api/v1/project?project=default")).json()).scrub === "off");
    expect((await project()).scrub_rules.length === 2, "the rules stay");
}
