/** A token that may only read: the first steps say who may do them, and offer no button. */
export default async function ({ open, expect, same }) {
    const page = await open({ path: "/p/default/start", allow: ["status of 404"] });
    await page.getByText("Your role does not allow this").first().waitFor();
    same(await page.locator(".first-step button").count(), 0, "buttons of steps");
    expect((await page.getByRole("region", { name: /^Snippet/ }).count()) === 1, "the snippets are there");
}
