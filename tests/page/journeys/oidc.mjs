/** Through an OpenID provider: to it with a click, and back to the address that one wanted; who is not let in reads why; the end of the session. */
export default async function ({ open, settings, expect, same }) {
    const visit = async (path) => {
        const page = await open({ loggedIn: false, path, allow: ["status of 401", "net::ERR_FAILED"] });
        // Its pages for development ask for fonts.
        await page.route((url) => url.hostname !== "127.0.0.1", (route) => route.abort());
        return page;
    };
    const logIn = async (page, name) => {
        await page.getByRole("link", { name: "Log in with Acme" }).click();
        await page.waitForURL(`${settings.other}/**`);
        await page.locator("input[name=login]").fill(name);
        await page.locator("input[name=password]").fill("any");
        await page.locator("button[type=submit]").click();
        await page.locator("input[name=prompt][value=consent]").waitFor({ state: "attached" });
        await page.locator("button[type=submit]").click();
        await page.waitForURL(`${settings.url}/**`);
    };
    const page = await visit("/p/default/issues?query=kind%3Acrash&since=7d");
    await logIn(page, "bob@acme.example");
    await page.locator(".issue-link").first().waitFor();
    same(new URL(page.url()).search, "?query=kind%3Acrash&since=7d", "the address that was wanted");
    const session = await page.evaluate(async () => (await fetch("/api/v1/session")).json());
    same([session.user.email, session.via], ["bob@acme.example", "oidc"], "who is logged in");
    await page.goto(`${settings.url}/p/default/settings/account`);
    await page.getByText("this one").waitFor();
    same(await page.getByLabel("Old password").count(), 0, "a password that is not framezero's");
    expect((await page.locator(".rows").textContent()).includes("oidc"), "how the session began");

    // Ann detaches Bob's account there, which ends the session that began with it; with his address he comes in again.
    const ann = await open({ path: "/p/default/settings/users" });
    const row = ann.getByRole("listitem").filter({ hasText: "bob@acme.example" });
    await row.getByText(`through ${settings.other}`).waitFor();
    await row.getByRole("button", { name: "More for bob@acme.example" }).click();
    await ann.getByRole("menuitem", { name: "Detach from the provider…" }).click();
    await ann.getByRole("dialog").getByRole("button", { name: "Detach", exact: true }).click();
    await row.getByText(`through ${settings.other}`).waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("link", { name: "Log in with Acme" }).click();
    await page.waitForURL(`${settings.url}/p/**`);
    await page.getByText("this one").waitFor();
    await ann.reload();
    await row.getByText(`through ${settings.other}`).waitFor();
    await page.getByRole("button", { name: /Theme, help, log out/ }).click();
    await page.getByRole("menuitem", { name: "Log out" }).click();
    await page.getByRole("link", { name: "Log in with Acme" }).waitFor();
    same(await page.getByRole("alert").count(), 0, "a mistake after logging out");

    const other = await visit("/login");
    await logIn(other, "eve@evil.example");
    await other.getByRole("alert").filter({ hasText: "not a user of this server" }).waitFor();
    await other.reload();
    await other.getByRole("link", { name: "Log in with Acme" }).waitFor();
    same(await other.getByRole("alert").count(), 0, "the mistake after a reload");
}
