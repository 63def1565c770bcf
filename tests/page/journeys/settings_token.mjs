/** Who pasted a token has no account section, and manages users as far as the token may. */
export default async function ({ open, settings, same }) {
    const page = await open({ path: "/p/default/settings/users" });
    await page.getByRole("listitem").filter({ hasText: "ann@example.com" }).waitFor();
    const sections = page.getByRole("navigation", { name: "Settings" }).getByRole("link");
    same((await sections.allTextContents()).includes("Your account"), false, "an account");
    await page.goto(`${settings.url}/p/default/settings/account`);
    await page.getByText("There is no such section").waitFor();
}
