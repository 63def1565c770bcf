/** Ann invites Bob, who sees no section for admins, changes his password, ends his sessions, and is disabled and removed. */
const BOB = "bob@example.com";

export default async function ({ open, settings, expect, same }) {
    const allow = ["status of 40"];
    const ann = await open({ path: "/p/default/settings/users", allow });
    const row = ann.getByRole("listitem").filter({ hasText: BOB });
    const more = async (name) => {
        await row.getByRole("button", { name: `More for ${BOB}` }).click();
        await ann.getByRole("menuitem", { name, exact: true }).click();
    };
    const link = async () => new URL(await ann.locator(".once-text").textContent());
    await ann.getByText("Ann <b>Lee</b>").waitFor();
    await ann.getByRole("button", { name: "Invite somebody" }).click();
    await ann.getByLabel("E-mail address").fill("no address");
    await ann.getByRole("button", { name: "Make the link" }).click();
    expect(await ann.getByRole("dialog").isVisible(), "what is not an address is not sent");
    await ann.getByLabel("E-mail address").fill(BOB);
    await ann.getByRole("dialog").getByRole("combobox").first().selectOption("viewer");
    await ann.getByRole("button", { name: "Make the link" }).click();
    const invitation = await link();
    same(invitation.pathname, "/invite", "the link");
    if (settings.shots) await ann.screenshot({ path: `${settings.shots}/users.png` });

    const bob = await open({ loggedIn: false, path: `/invite${invitation.hash}`, allow });
    await bob.getByLabel("Name").fill("Bob <i>");
    await bob.getByLabel("Password").fill("a first password");
    await bob.getByRole("button", { name: "Join" }).click();
    await bob.waitForURL(/\/p\/default\/issues/);
    await bob.goto(`${settings.url}/p/default/settings`);
    const sections = bob.getByRole("navigation", { name: "Settings" }).getByRole("link");
    await sections.first().waitFor();
    same(await sections.allTextContents(), ["Connect an app", "General", "Your account"], "what a viewer sees");
    await bob.goto(`${settings.url}/p/default/settings/users`);
    await bob.getByText("There is no such section").waitFor();

    // A member sees no more of them.
    await ann.reload();
    await row.getByRole("combobox").selectOption("member");
    await ann.getByText("The role is changed").waitFor();
    await bob.getByRole("button", { name: /log out: Bob <i>/ }).click();
    await bob.getByRole("menuitem", { name: "Your account" }).click();
    await bob.getByRole("heading", { name: "Sessions" }).waitFor();
    await bob.reload();
    await sections.first().waitFor();
    same(await sections.allTextContents(), ["Connect an app", "General", "Your account"], "what a member sees");

    const change = async (old, next) => {
        await bob.getByLabel("Old password").fill(old);
        await bob.getByLabel(/^New password/).fill(next);
        await bob.getByRole("button", { name: "Change the password" }).click();
    };
    await change("a wrong password", "a second password");
    await bob.getByRole("alert").waitFor();
    await change("a first password", "a second password");
    await bob.getByText("The password is changed").waitFor();
    same(await bob.getByRole("alert").count(), 0, "the mistake is gone");

    const elsewhere = await bob.context().browser().newContext();
    const logIn = async (password) => (await elsewhere.clearCookies(), await elsewhere.request.post(`${settings.url}/api/v1/session`, { data: { email: BOB, password } })).status();
    const isIn = async () => (await elsewhere.request.get(`${settings.url}/api/v1/session`)).status();
    same(await logIn("a first password"), 401, "the old password");
    same(await logIn("a second password"), 200, "the new password");
    await bob.reload();
    if (settings.shots) await bob.screenshot({ path: `${settings.shots}/account.png` });
    await bob.getByRole("button", { name: /^End the session/ }).click();
    await bob.getByText("The session has ended").waitFor();
    same(await isIn(), 401, "the session that Bob ended");
    same(await logIn("a second password"), 200, "a third session");
    await bob.reload();
    await bob.getByRole("button", { name: /^End the session/ }).waitFor();
    await bob.getByRole("button", { name: "Log out everywhere" }).click();
    await bob.getByLabel("Password", { exact: true }).waitFor();
    same(await isIn(), 401, "everywhere");

    // A new password by a link; then the end.
    await more("Link for a new password");
    await ann.getByText("The link for a new password of").waitFor();
    await bob.goto(`${settings.url}/reset${(await link()).hash}`);
    await bob.getByLabel("Password").fill("a third password");
    await bob.getByRole("button", { name: "Set the password" }).click();
    await bob.getByRole("navigation", { name: "Screens" }).waitFor();
    await more("Disable");
    await row.getByText("disabled", { exact: true }).waitFor();
    same(await logIn("a third password"), 401, "who is disabled");
    await bob.reload();
    await bob.getByLabel("Password", { exact: true }).waitFor();
    await more("Enable");
    await row.getByText("disabled", { exact: true }).waitFor({ state: "detached" });
    same(await logIn("a third password"), 200, "who is enabled again");
    await more("Remove…");
    await ann.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
    await row.waitFor({ state: "detached" });
    same(await isIn(), 401, "who is removed");

    // The last admin stays one, and the page says why.
    await ann.getByRole("button", { name: "More for ann@example.com" }).click();
    await ann.getByRole("menuitem", { name: "No admin of all projects any more" }).click();
    await ann.getByText("this is the last admin of all projects").waitFor();
}
