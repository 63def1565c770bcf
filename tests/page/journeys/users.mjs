/** The setup link makes the first user, who logs out, mistypes the password, and logs in again where the session ended. */
export default async function ({ open, settings, expect, same }) {
    const page = await open({ loggedIn: false, allow: ["status of 40"], path: "/" });
    await page.getByText("There is no user yet").waitFor();
    await page.getByText("framezero user invite").waitFor();
    await page.goto(settings.setup);
    await page.getByLabel("E-mail address").fill("ann@example.com");
    await page.getByLabel("Name").fill("Ann <b>Lee</b>");
    await page.getByLabel("Password").fill("correct horse battery");
    await page.getByRole("button", { name: "Create the user" }).click();
    await page.waitForURL(/\/p\/default\/issues/);
    const [cookie] = await page.context().cookies();
    expect(cookie.httpOnly && cookie.sameSite === "Lax", JSON.stringify(cookie));

    // The link counts once.
    await page.goto(settings.setup.replace("/setup", "/login"));
    await page.goto(settings.setup);
    await page.getByLabel("E-mail address").fill("eve@example.com");
    await page.getByLabel("Name").fill("Eve");
    await page.getByLabel("Password").fill("another long password");
    await page.getByRole("button", { name: "Create the user" }).click();
    await page.getByRole("alert").waitFor();

    await page.goto(`${settings.url}/p/default/issues?query=is%3Anew`);
    await page.getByRole("button", { name: /log out: Ann <b>Lee<\/b>/ }).click();
    await page.getByRole("menuitem", { name: "Log out" }).click();
    await page.getByLabel("E-mail address").fill("ann@example.com");
    await page.getByLabel("Password").fill("wrong horse battery");
    await page.getByRole("button", { name: "Log in", exact: true }).click();
    await page.getByRole("alert").getByText("wrong address or password").waitFor();
    await page.getByLabel("Password").fill("correct horse battery");
    await page.getByRole("button", { name: "Log in", exact: true }).click();
    await page.getByRole("navigation", { name: "Screens" }).waitFor();
    same(new URL(page.url()).search, "?query=is%3Anew", "where the session ended");

    // A session that ends elsewhere ends here with the next request. The list has come, so that none is on its way.
    await page.locator(".empty").waitFor();
    await page.context().clearCookies();
    await page.getByRole("button", { name: "New", exact: true }).waitFor();
    await page.getByRole("button", { name: "Regressed" }).click();
    await page.getByLabel("E-mail address").waitFor();
}
