/**
 * Asks for what the first screen shows, while the browser still loads and compiles the rest of the page. A screen that asks for exactly the same
 * gets that answer; it is listed here, and works without.
 */
import { parseRoute } from "./lib/address.js";
import { askAhead, setProject } from "./lib/api.js";
import { askedIssue, askedIssues, PAGE } from "./lib/asked.js";

const route = parseRoute(location);
const isList = route.screen === "issues" && !route.item;

if (route.project) {
    setProject(route.project);
    askAhead("/session");
    if (isList) {
        const { filter, sort } = askedIssues(route.query);
        askAhead("/issues", { ...filter, sort, limit: PAGE });
    } else if (route.screen === "issues") {
        askAhead(`/issues/${Number(route.item)}`, askedIssue(route.query).filter);
    } else if (route.screen === "reports" && route.item) {
        askAhead(`/reports/${encodeURIComponent(route.item)}`);
    }
    // The other screens are in a second file, which app.js would ask for only once it runs.
    if (!isList) document.head.append(Object.assign(document.createElement("link"), { rel: "modulepreload", href: new URL("./rest.js", import.meta.url).href }));
}
// A browser opens what it keeps for a server at the first access, and nothing else of the page runs meanwhile, for 30 to 90 ms: now, while the
// answers are on their way.
localStorage.getItem("framezero.theme");
