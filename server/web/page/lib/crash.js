/** What a crash means, in words: its address, its signal, its termination code. */

/** @type {Record<string, string>} */
const MACH = {
    EXC_BAD_ACCESS: "Bad memory access",
    EXC_BAD_INSTRUCTION: "Illegal instruction",
    EXC_ARITHMETIC: "Arithmetic error",
    EXC_BREAKPOINT: "A check failed and stopped the app",
    EXC_GUARD: "A guarded resource was misused",
    EXC_RESOURCE: "A limit of the system was exceeded",
};
/** @type {Record<string, string>} */
const SIGNALS = {
    SIGSEGV: "Bad memory access",
    SIGBUS: "Bad memory access",
    SIGABRT: "The app aborted itself",
    SIGTRAP: "A check failed and stopped the app",
    SIGILL: "Illegal instruction",
    SIGFPE: "Arithmetic error",
    SIGKILL: "The system ended the app",
    SIGPIPE: "It wrote to a connection that was closed",
    SIGSYS: "Unknown system call",
};
/** Of Apple's documentation of termination reasons. @type {Record<string, string>} */
const CODES = {
    "0x8badf00d": "the watchdog ended it: it did not respond in time",
    "0xc00010ff": "the device became too hot",
    "0xbaadca11": "it did not report a call that came in",
    "0xbad22222": "it started too often in the background",
    "0xdead10cc": "it held a file lock or database while it was suspended",
    "0xdeadfa11": "the user ended it",
    "0xbaddd15c": "the disk is full",
    "0xc51bad01": "a watch app used too much time in the background",
    "0xc51bad02": "a watch app did not end a background task in time",
    "0xc51bad03": "a watch app had too little time for a background task",
};

const NEAR = 0x10000n;
const END = 1n << 64n;
// User space of 64-bit Apple systems ends below this; pointers of freed or overwritten memory are often above it.
const USER_END = 1n << 47n;

/** @param {string | undefined} text */
function readAddress(text) {
    try {
        return text === undefined ? null : BigInt(text);
    } catch {
        return null;
    }
}

/** @param {bigint} n */
const bytes = (n) => `${n} ${n === 1n ? "byte" : "bytes"}`;

/**
 * "12 bytes past nil"; "" if the address says nothing.
 * @param {string | undefined} text "0xc"
 * @param {{arch?: string, pc?: string}} [where]
 */
export function addressMeaning(text, { arch = "", pc } = {}) {
    const address = readAddress(text);
    if (address === null || address < 0n || address >= END) return "";
    if (address === 0n) return "nil";
    if (address < NEAR) return `${bytes(address)} past nil: a member or element of something that is nil`;
    const before = (arch.includes("64") || address >> 32n ? END : 1n << 32n) - address;
    if (before > 0n && before < NEAR) return `${bytes(before)} before nil`;
    if (readAddress(pc) === address) return "there is no code: a function pointer or object was overwritten or freed";
    if (address >= USER_END) return "not an address of the app: the pointer was overwritten, or its memory freed";
    return "";
}

/** Is a crash at an address about that address? @param {Record<string, any>} crash */
const isAccess = (crash) => crash.mach === "EXC_BAD_ACCESS" || ["SIGSEGV", "SIGBUS"].includes(crash.signal);

/**
 * @param {import("./types.js").Report} report
 * @returns {{what: string, why: string, codes: string[]}} a sentence; the reason; what the system called it
 */
export function crashMeaning(report) {
    const crash = report.crash ?? {};
    const thread = report.threads?.find((one) => one.crashed);
    const registers = thread?.registers ?? {};
    const kind = crash.exception ? `Uncaught ${crash.exception}` : MACH[crash.mach] ?? SIGNALS[crash.signal] ?? "";
    const meaning = isAccess(crash) ? addressMeaning(crash.address, { arch: report.arch, pc: registers.pc ?? registers.rip ?? registers.eip }) : "";
    const at = isAccess(crash) && crash.address ? ` at ${crash.address}` : "";
    const text = `${crash.reason ?? ""} ${crash.termination ?? ""}`.toLowerCase();
    const code = Object.keys(CODES).find((one) => text.includes(one));
    return {
        what: `${kind}${at}${meaning && `: ${meaning}`}` || "It is not known what happened",
        why: [crash.reason, code && `${code}: ${CODES[code]}`].filter(Boolean).join("\n"),
        codes: [crash.signal, crash.mach, crash.code].filter((one) => typeof one === "string"),
    };
}

/** The frames that describe the crash. @param {import("./types.js").Report} report */
export function crashFrames(report) {
    const own = report.exception_backtrace?.frames;
    if (own?.length) return own;
    const threads = report.threads ?? [];
    return (threads.find((one) => one.crashed) ?? threads[report.crash?.thread ?? 0] ?? threads[0])?.frames ?? [];
}
