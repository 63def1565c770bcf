/**
 * The screens of a project, in the order of the bar. A screen is loaded when it is first shown; its module exports
 * Screen({project, route}), and early(route), which returns when its data is there, if it can begin to load before one knows who is logged in. `key`: "g KEY" goes there.
 *
 * @type {{name: string, text: string, key?: string, load: () => Promise<{Screen: any, early?: (route: any) => Promise<void>}>}[]}
 */
export const screens = [
    { name: "issues", text: "Issues", key: "i", load: () => import("./issues.js") },
    { name: "reports", text: "Reports", key: "r", load: () => import("./reports.js") },
    { name: "versions", text: "Versions", key: "v", load: () => import("./versions.js") },
    { name: "symbols", text: "Symbols", key: "s", load: () => import("./symbols.js") },
    { name: "settings", text: "Settings", key: ",", load: () => import("./settings.js") },
];

/** What `/p/PROJECT/NAME/ITEM` shows. */
export const itemScreens = /** @type {Record<string, () => Promise<{Screen: any, early?: (route: any) => Promise<void>}>>} */ ({
    issues: () => import("./issue.js"),
    reports: () => import("./report.js"),
});

/** What `/p/PROJECT/NAME` shows without being in the bar. */
export const otherScreens = /** @type {Record<string, () => Promise<{Screen: any, early?: (route: any) => Promise<void>}>>} */ ({
    start: () => import("./first_run.js"),
});
