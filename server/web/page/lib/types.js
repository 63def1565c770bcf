/**
 * The shapes of the API's answers that several modules use (docs/api). Absent keys are unknown values.
 *
 * @typedef {{id: number, name: string, role: "viewer"|"member"|"admin"}} Project
 * @typedef {{user?: {id: number, email: string, name: string, admin?: boolean}, token?: {label: string}, projects: Project[],
 *   expires?: string, via: string}} Session
 * @typedef {{login: string[], oidc?: {name: string, error?: string}, setup: boolean}} LoginWays
 *
 * @typedef {{number: number, title: string, kind: string, state: "open"|"resolved"|"ignored", regressed: boolean,
 *   first_seen: string, last_seen: string, first_version?: string, first_build?: string, last_version?: string,
 *   last_build?: string, reports: number, users: number, trend: number[], assignee?: string, placeholder?: boolean,
 *   exception?: string, signal?: string, reason?: string}} Issue
 * @typedef {{top: Record<string, any>[], others: number, values: number}} Distribution
 * @typedef {{variant: string, id: number, label: string, reports: number, first_seen: string, last_seen: string}} Variant
 * @typedef {Issue & {trend_start: string, trend_step_ms: number, distributions: Record<string, Distribution>,
 *   variants: Variant[], variant_count: number, newest_report?: string, best_report?: string,
 *   resolved_in?: any[], ignore_until?: Record<string, any>}} IssueDetail
 *
 * @typedef {{name?: string, type?: string, kind?: string, value?: string, availability?: string, stale?: boolean,
 *   address?: string, location?: string, fields?: Variable[], fields_cut?: number}} Variable
 * @typedef {{function?: string, mangled?: string, file?: string, line?: number, column?: number, offset?: number,
 *   inlined?: boolean, source?: string, variables?: Variable[], variables_cut?: number,
 *   variables_availability?: string}} Sym
 * @typedef {{index: number, address: string, lookup_address?: string, image?: string, image_uuid?: string,
 *   image_offset?: string, status?: string, trust?: string, symbols: Sym[], in_app?: boolean, rule?: string,
 *   anchor?: boolean}} Frame
 * @typedef {{index: number, name?: string, queue?: string, crashed?: boolean, registers?: Record<string, string>,
 *   frames: Frame[], state?: string, frames_truncated?: boolean, stack?: Memory, notable_addresses?: any,
 *   samples?: number}} Thread
 * @typedef {{address?: string, size?: number, why?: string, truncated?: boolean, bytes?: string}} Memory
 * @typedef {{uuid?: string, name?: string, path?: string, arch?: string, address?: string, size?: number, symbols?: string,
 *   version?: string, bundle_id?: string}} Image
 * @typedef {{id: string, status: string, format?: string, kind?: string, received: string, timestamp?: string,
 *   app?: Record<string, string>, os?: Record<string, string>, device?: Record<string, string>, arch?: string,
 *   crash?: Record<string, any>, user?: Record<string, string>, tags?: Record<string, string>, threads: Thread[],
 *   exception_backtrace?: {frames: Frame[]}, images: Image[], missing?: Image[], notes?: string[], error?: string,
 *   issue?: Record<string, any>, breadcrumbs?: any[], environment?: string, process?: Record<string, any>, extra?: any,
 *   client_id?: string, run_id?: string, session_id?: string, same_crash?: string[], capture?: any, memory?: Memory[],
 *   attachments?: {name?: string, type?: string, kind?: string, size?: number}[], variables?: any}} Report
 * @typedef {{id: string, status: string, received: string, app?: Record<string, string>, os?: Record<string, string>,
 *   device?: Record<string, string>, user?: Record<string, string>, top?: Sym, missing?: number, kind?: string, timestamp?: string,
 *   crash?: Record<string, any>, same_as?: string, environment?: string}} ReportRow
 * @typedef {{uuid: string, arch?: string, kind: string, name?: string, size: number, state?: string, status?: string,
 *   features?: Record<string, any>, problems?: {kind: string, text: string, count?: number}[], uploaded?: string,
 *   verdict?: {code: string, todo?: string, retry?: boolean}}} SymbolFile
 * @typedef {{uuid: string, name?: string, arch?: string, app_versions: string[], reports: number, first_seen?: string,
 *   last_seen?: string}} MissingImage
 * @typedef {{at: string, actor: string, kind: string, detail?: Record<string, any>, issue?: number}} Activity
 */
export {};
