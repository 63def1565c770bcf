// A real OpenID provider (npm: oidc-provider) for tests: node real_provider.mjs FOLDER REDIRECT_URI. Prints its URL. Its
// pages for development take any name and any password; the name says who somebody is: "bob@example.com" has that address,
// "bob@example.com?unverified" has one that was not verified.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import http from "node:http";

const [, , folder, redirectUri] = process.argv;
const { default: Provider } = await import(pathToFileURL(createRequire(`${folder}/`).resolve("oidc-provider")).href);
console.warn = console.info = () => {}; // it warns of its own pages

const server = http.createServer();
server.listen(0, "127.0.0.1", () => {
    const url = `http://127.0.0.1:${server.address().port}`;
    const provider = new Provider(url, {
        clients: [{ client_id: "framezero", client_secret: "a secret/+&", redirect_uris: [redirectUri] }],
        claims: { email: ["email", "email_verified"], profile: ["name"] },
        cookies: { keys: ["tests"] },
        pkce: { required: () => true },
        async findAccount(_context, id) {
            const [email, flag] = id.split("?");
            return { accountId: id, claims: async () => ({ sub: id, email, email_verified: flag !== "unverified", name: email.split("@")[0] }) };
        },
    });
    server.on("request", provider.callback());
    console.log(url);
});
