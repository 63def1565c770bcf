/*
 * The enums of store.h as the texts of the database, which are also those of the API.
 *
 * The texts are part of the schema: queries of other files name some of them.
 */
#include "storage/store_private.h"

static const char *const report_statuses[] = {
    [STORE_REPORT_QUEUED] = "queued",   [STORE_REPORT_SYMBOLICATED] = "symbolicated",
    [STORE_REPORT_PARTIAL] = "partial", [STORE_REPORT_UNSYMBOLICATED] = "unsymbolicated",
    [STORE_REPORT_FAILED] = "failed",
};
static const char *const symbol_kinds[] = {
    [STORE_SYMBOL_DSYM] = "dsym",
    [STORE_SYMBOL_BINARY] = "binary",
    [STORE_SYMBOL_BCSYMBOLMAP] = "bcsymbolmap",
    [STORE_SYMBOL_UUIDMAP] = "uuidmap",
};
static const char *const symbol_states[] = {
    [STORE_SYMBOL_READY] = "ready",
    [STORE_SYMBOL_FAILED] = "failed",
};
static const char *const upload_states[] = {
    [STORE_UPLOAD_QUEUED] = "queued",
    [STORE_UPLOAD_DONE] = "done",
    [STORE_UPLOAD_FAILED] = "failed",
};

/* The number of a name among the `n`; n if it is not among them. */
static size_t
find_name(const char *const *names, size_t n, struct fz_span text)
{
    size_t at = 0;
    while (at < n && !fz_span_is(text, names[at]))
        at++;
    return at;
}

bool
store_symbol_kind_parse(const char *text, enum store_symbol_kind *ret)
{
    size_t at = find_name(symbol_kinds, FZ_ARRAY_LEN(symbol_kinds), fz_span_cstr(text));
    if (at < FZ_ARRAY_LEN(symbol_kinds))
        *ret = (enum store_symbol_kind)at;
    return at < FZ_ARRAY_LEN(symbol_kinds);
}

/* Rows have only what this program or an older one wrote: anything else is a damaged database. */
static enum fz_code
read_name(struct sql_rows *rows, int column, const char *const *names, size_t n, size_t *ret,
          struct fz_error *err)
{
    struct fz_span text = sql_col_bytes(rows, column);
    *ret = find_name(names, n, text);
    if (*ret < n)
        return FZ_OK;
    /* A value of every enum, for callers that look at it before they check the code. */
    *ret = 0;
    return fz_fail(err, FZ_E_INTERNAL, "the database holds the unknown state '%.*s'",
                   (int)(text.len < 32 ? text.len : 32), (const char *)text.data);
}

/* The two directions of one enum, named store_KIND_name() and store_read_KIND(). */
#define store_define_names(kind, names)                                                       \
    const char *store_##kind##_name(enum store_##kind value)                                  \
    {                                                                                         \
        return names[value];                                                                  \
    }                                                                                         \
    enum fz_code store_read_##kind(struct sql_rows *rows, int column, enum store_##kind *ret, \
                                   struct fz_error *err)                                      \
    {                                                                                         \
        size_t at = 0;                                                                        \
        enum fz_code code = read_name(rows, column, names, FZ_ARRAY_LEN(names), &at, err);    \
        *ret = (enum store_##kind)at;                                                         \
        return code;                                                                          \
    }                                                                                         \
    _Static_assert(FZ_ARRAY_LEN(names) > 0, "an enum has names")

store_define_names(report_status, report_statuses);
store_define_names(symbol_kind, symbol_kinds);
store_define_names(symbol_state, symbol_states);
store_define_names(upload_state, upload_states);
