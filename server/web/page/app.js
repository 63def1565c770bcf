/** The page: who is logged in, which screen the address names, and that screen. */
import { html, render, useEffect, useLayoutEffect, useState } from "./lib/preact.js";
import { setProject } from "./lib/api.js";
import { stopEvents } from "./lib/live.js";
import { forgetAll } from "./lib/load.js";
import { go, parseRoute, pathTo, restorePosition, startRouter, useRoute } from "./lib/router.js";
import { login, readSession } from "./lib/session.js";
import { useStore } from "./lib/store.js";
import { Boundary, Empty, Failure, Skeleton } from "./ui/state.js";
import { Shell } from "./ui/shell.js";
import { Toasts } from "./ui/toast.js";
import { LoginScreen } from "./screens/login.js";
import { LINKS, LinkScreen } from "./screens/links.js";
import { itemScreens, otherScreens, screens } from "./screens/screens.js";

const TOGETHER_MS = 150;
const IDLE_WITHIN_MS = 1500;

/** @type {Map<Function, any>} what was loaded, so that it is drawn at once the next time */
const loaded = new Map();

/** @param {{load: (() => Promise<{Screen: any}>) | undefined, project: string, route: import("./lib/router.js").Route}} props */
function LazyScreen({ load, project, route }) {
    const [, draw] = useState(0);
    const [error, setError] = useState(/** @type {any} */ (null));
    useLayoutEffect(() => {
        setError(null);
        if (!load || loaded.has(load)) return;
        load().then((module) => (loaded.set(load, module.Screen), draw((n) => n + 1)), setError);
    }, [load]);
    const Screen = load && loaded.get(load);
    useLayoutEffect(() => {
        if (Screen) restorePosition();
    }, [Screen, route.path]);
    if (!load) return html`<${Empty} title="There is no such page" top><p><a href=${pathTo(project, "issues")}>Issues</a></p><//>`;
    if (error) return html`<${Failure} error=${new Error("a part of the page could not be loaded; after an update of the server, reload it")} retry=${() => location.reload()} />`;
    return Screen ? html`<${Screen} project=${project} route=${route} />` : html`<${Skeleton} rows=${8} />`;
}

/** @param {{session: import("./lib/types.js").Session}} props */
function Project({ session }) {
    const route = useRoute();
    const last = localStorage.getItem("framezero.project");
    const home = session.projects.find((one) => one.name === last) ?? session.projects[0];
    const isHome = !route.project;
    const project = session.projects.find((one) => one.name === route.project);
    useEffect(() => {
        if (isHome && home) go(pathTo(home.name, "issues"), { replace: true });
        if (project) localStorage.setItem("framezero.project", project.name);
    }, [isHome, project?.name]);
    if (!home) return html`<main class="login"><h1>framezero</h1><p>You may not see any project yet. Ask an admin for a role.</p></main>`;
    if (isHome) return null;
    const load = screenOf(route);
    if (setProject(project?.name ?? "")) forgetAll();
    return html`<${Shell} session=${session} project=${project?.name ?? home.name} screen=${route.screen} screens=${screens}>
        <${Boundary} key=${`${route.project}/${route.screen}/${route.item}`}>
            ${project
                ? html`<${LazyScreen} load=${load} project=${project.name} route=${route} />`
                : html`<${Empty} title="There is no such project" top><p>Or you may not see it. <a href=${pathTo(home.name, "issues")}>${home.name}</a></p><//>`}
        <//>
    <//>`;
}

function App() {
    const now = useStore(login);
    const route = useRoute();
    useEffect(() => {
        if (now.state !== "out") return;
        stopEvents();
        forgetAll();
    }, [now.state]);
    if (LINKS[route.screen]) return html`<${LinkScreen} key=${route.screen} screen=${route.screen} token=${route.hash} />`;
    if (now.state === "in") return html`<${Project} session=${now.session} />`;
    if (now.state === "failed") return html`<main class="login"><h1>framezero</h1><${Failure} error=${now.error} retry=${readSession} /></main>`;
    if (now.state === "asking") return null;
    const here = location.pathname + location.search;
    return html`<${LoginScreen} ways=${now.ways} next=${route.project ? here : "/"} />`;
}

/** Which module draws what a route names. @param {import("./lib/router.js").Route} route */
function screenOf(route) {
    const ofList = screens.find((one) => one.name === route.screen)?.load ?? otherScreens[route.screen];
    return (route.item && itemScreens[route.screen]) || ofList;
}

startRouter();
// The screen is on its way while the server says who is logged in. Both are drawn at once, if the screen comes soon: to draw and lay out the
// bar above an empty screen first takes longer.
const first = parseRoute(location);
setProject(first.project);
const drawable = screenOf(first)?.().then((module) => (loaded.set(screenOf(first), module.Screen), module.early?.(first))).catch(() => {});
readSession(Promise.race([drawable, new Promise((resolve) => setTimeout(resolve, TOGETHER_MS))]));
render(html`<${App} /><${Toasts} />`, /** @type {Element} */ (document.getElementById("app")));
// What one opens next, once the first screen is there and nothing else is to be done. Safari has no requestIdleCallback.
const whenIdle = globalThis.requestIdleCallback ?? ((/** @type {() => void} */ run) => setTimeout(run, IDLE_WITHIN_MS));
Promise.resolve(drawable).then(() => whenIdle(() => Object.values(itemScreens).forEach((load) => load()), { timeout: IDLE_WITHIN_MS }));
