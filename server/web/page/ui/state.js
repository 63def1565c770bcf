/** What is shown in place of data: while it loads, when there is none, when it failed or could not be drawn. */
import { html, Component } from "../lib/preact.js";
import { Icon } from "./icon.js";

/** @param {{title: string, top?: boolean, children?: any}} props top: nothing else is on the screen */
export function Empty({ title, top = false, children }) {
    return html`<div class="empty">${top ? html`<h1>${title}</h1>` : html`<h2>${title}</h2>`}${children}</div>`;
}

/** @param {{error: import("../lib/api.js").ApiError, retry?: () => void}} props */
export function Failure({ error, retry }) {
    return html`<div class="failure" role="alert">
        <p>${error.message}</p>
        ${error.requestId && error.status >= 500 && html`<p class="small">X-Request-Id: <code>${error.requestId}</code></p>`}
        ${retry && html`<button type="button" class="button" onClick=${retry}><${Icon} name="refresh" />Try again</button>`}
    </div>`;
}

/** Grey bars of the size of what is coming, so that nothing jumps. @param {{rows?: number, class?: string}} props */
export function Skeleton({ rows = 3, class: className = "" }) {
    return html`<div class=${`skeleton ${className}`} role="status" aria-label="Loading">
        ${Array.from({ length: rows }, (_, i) => html`<div key=${i} class="skeleton-row"><i /><i /></div>`)}
    </div>`;
}

export class Boundary extends Component {
    /** @param {{children?: any}} props */
    constructor(props) {
        super(props);
        /** @type {{error: any}} */
        this.state = { error: null };
    }

    /** @param {any} error */
    componentDidCatch(error) {
        console.error(error);
        this.setState({ error });
    }

    render() {
        if (!this.state.error) return /** @type {any} */ (this.props).children;
        return html`<div class="failure" role="alert">
            <p>This screen could not be drawn: ${String(this.state.error?.message ?? this.state.error)}</p>
            <p><button type="button" class="button" onClick=${() => location.reload()}>Reload the page</button></p>
        </div>`;
    }
}
