/** Small drawings of 16 × 16, in the colour of the text; never the only label of a control. */
import { html } from "../lib/preact.js";

/** @type {Record<string, string>} */
const PATHS = {
    search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.6 10.6 14 14",
    down: "m4 6 4 4 4-4",
    right: "m6 4 4 4-4 4",
    left: "m10 4-4 4 4 4",
    check: "m3 8.5 3.2 3.2L13 5",
    cross: "m4 4 8 8M12 4l-8 8",
    clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.8V8l2.2 1.6",
    sort: "M5 3v10M5 13l-2.4-2.4M5 13l2.4-2.4M11 13V3M11 3 8.6 5.4M11 3l2.4 2.4",
    star: "m8 2.2 1.8 3.7 4 .5-2.9 2.8.7 4L8 11.3l-3.6 1.9.7-4L2.2 6.4l4-.5L8 2.2Z",
    copy: "M6 6h7v7H6zM3 10V3h7",
    download: "M8 2.5v8M4.8 7.6 8 10.8l3.2-3.2M3 13.5h10",
    person: "M8 8a2.8 2.8 0 1 0 0-5.6A2.8 2.8 0 0 0 8 8ZM2.8 14c.5-2.8 2.5-4.2 5.2-4.2s4.7 1.4 5.2 4.2",
    link: "M6.6 9.4 9.4 6.6M7.4 4.6l1.2-1.2a2.8 2.8 0 0 1 4 4l-1.2 1.2M8.6 11.4l-1.2 1.2a2.8 2.8 0 0 1-4-4l1.2-1.2",
    mute: "M2.5 6.2h2.4L8.4 3v10L4.9 9.8H2.5zM11 6.4l3 3.2M14 6.4l-3 3.2",
    merge: "M4 2.5v3C4 8 8 8 8 10.5v3M12 2.5v3C12 8 8 8 8 10.5",
    more: "M3.2 8h.01M8 8h.01M12.8 8h.01",
    keyboard: "M1.5 4h13v8h-13zM4 6.6h.01M6.7 6.6h.01M9.3 6.6h.01M12 6.6h.01M4.6 9.4h6.8",
    theme: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 2v12A6 6 0 0 0 8 2Z",
    inline: "M3 3v5.5h8M8.4 5.9 11 8.5l-2.6 2.6",
    branch: "M4.5 3v10M4.5 9C9 9 11.5 8 11.5 5.5M11.5 5.5a1.6 1.6 0 1 0 0-.01",
    refresh: "M13 8a5 5 0 1 1-1.5-3.5M13 2v3h-3",
};

/** @param {{name: string, size?: number}} props */
export function Icon({ name, size = 16 }) {
    return html`<svg class="icon" viewBox="0 0 16 16" width=${size} height=${size} aria-hidden="true" focusable="false">
        <path d=${PATHS[name]} fill="none" stroke="currentColor" stroke-width=${name === "more" ? 2.4 : 1.5}
            stroke-linecap="round" stroke-linejoin="round" />
    </svg>`;
}
