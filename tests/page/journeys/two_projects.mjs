/** What was loaded of one project is not shown in another, not even until the other one's has come. */
export default async function ({ open, same }) {
    const page = await open({ path: "/p/default/issues" });
    await page.locator(".issue-link").first().waitFor();
    let answer = () => {};
    const asked = new Promise((resolve) => page.route(/issues\?project=other/, async (route) => {
        resolve(null);
        await new Promise((go) => (answer = () => go(null)));
        await route.continue();
    }));
    await page.getByRole("button", { name: "Project: default" }).click();
    await page.getByRole("menuitemradio", { name: "other" }).click();
    await asked;
    await page.waitForURL(/\/p\/other\/issues/);
    same(await page.locator(".issue-link").count(), 0, "issues of the project before");
    answer();
    await page.getByRole("heading", { name: "No report yet" }).waitFor();
    await page.goBack();
    await page.locator(".issue-link").first().waitFor();

    // The first visit asks for the list once, and does not wait for the answer that says who is logged in.
    const paths = [];
    page.on("request", (request) => paths.push(new URL(request.url()).pathname));
    // The stream of events is opened after the list is there.
    const events = page.waitForRequest(/\/api\/v1\/events/);
    await page.reload();
    await page.locator(".issue-link").first().waitFor();
    await events;
    same(paths.filter((path) => path.startsWith("/api/")).sort(), ["/api/v1/events", "/api/v1/filters", "/api/v1/issues", "/api/v1/session"], "requests of a first visit");
}
