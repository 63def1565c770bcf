/** From when to when: a choice that is part of the address. */
import { html, useState } from "../lib/preact.js";
import { date } from "../lib/time.js";
import { setQuery } from "../lib/router.js";
import { Dialog, DialogButtons } from "./dialog.js";
import { Menu } from "./menu.js";

export const RANGES = [
    { since: "24h", text: "Last 24 hours" },
    { since: "7d", text: "Last 7 days" },
    { since: "14d", text: "Last 14 days" },
    { since: "30d", text: "Last 30 days" },
    { since: "90d", text: "Last 90 days" },
    { since: undefined, text: "All time" },
];

/** @param {{since?: string, until?: string}} range */
export function rangeText({ since, until }) {
    const known = !until && RANGES.find((one) => one.since === since);
    if (known) return known.text;
    const [from, to] = [since, until].map((at) => at && (date(at) || at));
    return from && to ? `${from} – ${to}` : from ? `Since ${from}` : `Until ${to}`;
}

/** @param {{since?: string, until?: string, close: () => void}} props */
function RangeDialog({ since, until, close }) {
    const day = (/** @type {string | undefined} */ at) => (at && /^\d{4}-/.test(at) ? at.slice(0, 10) : "");
    const [from, setFrom] = useState(day(since));
    const [to, setTo] = useState(day(until));
    const submit = (/** @type {Event} */ event) => {
        event.preventDefault();
        close();
        setQuery({ since: from || undefined, until: to || undefined });
    };
    return html`<${Dialog} title="Other time range" close=${close}>
        <form class="form" onSubmit=${submit}>
            <label class="field"><span>From</span><input type="date" value=${from} max=${to} data-first
                onInput=${(/** @type {any} */ e) => setFrom(e.target.value)} /></label>
            <label class="field"><span>Until, without this day</span><input type="date" value=${to} min=${from}
                onInput=${(/** @type {any} */ e) => setTo(e.target.value)} /></label>
            <p class="small muted">Days are those of UTC.</p>
            <${DialogButtons} text="Show" disabled=${!from && !to} close=${close} />
        </form>
    <//>`;
}

/** @param {{since?: string, until?: string}} props */
export function TimeRange({ since, until }) {
    const [isOpen, setOpen] = useState(false);
    const isOther = !!until || !RANGES.some((one) => one.since === since);
    const items = [
        ...RANGES.map((one) => ({
            text: one.text, chosen: !until && one.since === since, run: () => setQuery({ since: one.since, until: undefined }),
        })),
        { text: "Other…", chosen: isOther, run: () => setOpen(true) },
    ];
    const text = rangeText({ since, until });
    return html`<${Menu} label=${text} name=${`Time range: ${text}`} icon="clock" items=${items} side="right" />
        ${isOpen && html`<${RangeDialog} since=${since} until=${until} close=${() => setOpen(false)} />`}`;
}
