/** Where the server has no place for a stream of events, the page asks from time to time. */
export default async function ({ open, settings, same }) {
    const headers = { Authorization: `Bearer ${settings.token}` };
    const taken = await fetch(`${settings.url}/api/v1/events`, { headers });
    same(taken.status, 200, "the stream that takes the only place");
    // The browser writes a refused request to the console by itself.
    const page = await open({ path: "/p/default/issues?query=app%3Acom.acme.live", allow: ["503"] });
    await page.getByRole("heading", { name: "No issue matches" }).waitFor();
    const answer = await fetch(`${settings.url}/api/v1/reports?wait=30`, { method: "POST", body: settings.report, headers });
    same(answer.status, 200, "the report");
    await page.locator(".issue-link", { hasText: "Live.first()" }).waitFor({ timeout: 30000 });
    await taken.body.cancel();
}
