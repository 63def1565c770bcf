/*
 * Many rows of numbers from PostgreSQL: COPY (SELECT ...) TO STDOUT (FORMAT binary).
 *
 * libpq takes a microsecond for each row of a result, and the server needs three times as long to make arrays of the columns as to
 * send the rows in this format. COPY has no parameters, so arguments become literals.
 *
 * The format (PostgreSQL's page of COPY, "Binary Format"): a signature of 11 bytes, flags, the length of what follows; then of each
 * row the number of columns and each column as a length and its bytes, -1 for NULL; the number of columns -1 is the end. All is
 * big-endian.
 */
#include <stdio.h>
#include <stdlib.h>

#include "storage/sql/postgresql.h"

enum { SIGNATURE = 11, HEADER = SIGNATURE + 8 };

/* ---- arguments ---- */

static void
append_bytes(struct fz_span bytes, struct fz_buffer *out)
{
    fz_buffer_text(out, "'\\x");
    for (size_t i = 0; i < bytes.len; i++)
        fz_buffer_printf(out, "%02x", bytes.data[i]);
    fz_buffer_text(out, "'::bytea");
}

static enum fz_code
append_text(PGconn *conn, struct fz_span text, const char *type, struct fz_buffer *out,
            struct fz_error *err)
{
    /* It takes a NULL pointer for a failure. */
    char *literal = PQescapeLiteral(conn, text.len ? (const char *)text.data : "", text.len);
    if (!literal)
        return fz_fail(err, FZ_E_MALFORMED, "database: %s", PQerrorMessage(conn));
    fz_buffer_printf(out, "%s::%s", literal, type);
    PQfreemem(literal);
    return FZ_OK;
}

static enum fz_code
append_literal(PGconn *conn, const struct sql_value *arg, struct fz_buffer *out,
               struct fz_error *err)
{
    static const char *const types[] = {[SQL_INT] = "bigint",
                                        [SQL_TEXT] = "text",
                                        [SQL_BLOB] = "bytea",
                                        [SQL_NUMBERS] = "bigint[]"};
    if (arg->kind == SQL_ARRAY || arg->kind == SQL_BAD)
        return fz_fail(err, FZ_E_INTERNAL, "an argument of a kind that is not for numbers");
    if (arg->is_null)
        fz_buffer_printf(out, "NULL::%s", types[arg->kind]);
    else if (arg->kind == SQL_INT)
        fz_buffer_printf(out, "'%lld'::bigint", (long long)arg->number);
    else if (arg->kind == SQL_BLOB)
        append_bytes(arg->bytes, out);
    else
        return append_text(conn, arg->bytes, types[arg->kind], out, err);
    return FZ_OK;
}

/* `text` with the arguments in the place of $1, $2, ... */
static enum fz_code
append_query(PGconn *conn, const char *text, const struct sql_value *args, size_t n_args,
             struct fz_buffer *out, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    bool is_quoted = false; /* a doubled quote ends the literal and starts it again */
    while (code == FZ_OK && *text) {
        is_quoted ^= *text == '\'';
        if (*text != '$' || is_quoted || text[1] < '1' || text[1] > '9') {
            fz_buffer_char(out, *text++);
            continue;
        }
        char *end;
        unsigned long place = strtoul(text + 1, &end, 10);
        text = end;
        code = place <= n_args ? append_literal(conn, &args[place - 1], out, err)
                               : fz_fail(err, FZ_E_INTERNAL, "a query has no argument $%lu", place);
    }
    return code;
}

/* ---- rows ---- */

static uint64_t
big_endian(const uint8_t *at, size_t len)
{
    uint64_t value = 0;
    for (size_t i = 0; i < len; i++)
        value = value << 8 | at[i];
    return value;
}

/* What one message has, which is of whole rows. */
static enum fz_code
put_rows(struct fz_span message, struct sql_ints *ret, struct fz_error *err)
{
    const uint8_t *at = message.data, *end = at + message.len;
    while (end - at >= 2 && big_endian(at, 2) == ret->n_columns) {
        int64_t *to = sql_ints_put(ret);
        if (!to)
            return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
        at += 2;
        for (size_t i = 0; i < ret->n_columns; i++) {
            uint64_t len = end - at >= 4 ? big_endian(at, 4) : 0;
            bool is_null = len == UINT32_MAX;
            if (!is_null && (len != 8 || end - at < 12))
                return fz_fail(err, FZ_E_INTERNAL, "database: a number of %llu bytes",
                               (unsigned long long)len);
            to[i] = is_null ? 0 : (int64_t)big_endian(at + 4, 8);
            at += is_null ? 4 : 12;
        }
    }
    bool is_end = end - at == 2 && big_endian(at, 2) == UINT16_MAX;
    return at == end || is_end ? FZ_OK
                               : fz_fail(err, FZ_E_INTERNAL, "database: rows that are not numbers");
}

static bool
skip_header(struct fz_span *message)
{
    if (message->len < HEADER || memcmp(message->data, "PGCOPY\n\377\r\n", SIGNATURE) != 0)
        return false;
    size_t more = (size_t)big_endian(message->data + SIGNATURE + 4, 4);
    if (more > message->len - HEADER)
        return false;
    *message = fz_span_from(*message, HEADER + more);
    return true;
}

static enum fz_code
read_copy(struct sql_pg *pg, struct sql_ints *ret, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    bool has_header = false;
    char *bytes = NULL;
    int len;
    while ((len = PQgetCopyData(pg->conn, &bytes, 0)) > 0) {
        struct fz_span message = fz_span_make(bytes, (size_t)len);
        if (code == FZ_OK && !has_header && !skip_header(&message))
            code = fz_fail(err, FZ_E_INTERNAL, "database: this is not the binary format of COPY");
        has_header = true;
        /* After a failure it is read to its end all the same, since the connection goes on. */
        if (code == FZ_OK)
            code = put_rows(message, ret, err);
        PQfreemem(bytes);
    }
    /* A failure of the statement is in the result that follows; -2 is one of the connection. */
    return code == FZ_OK && len == -2 ? sql_pg_fail(pg, NULL, err) : code;
}

/* All results of the message; the failure is the first one. */
static enum fz_code
read_results(struct sql_pg *pg, struct sql_ints *ret, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    bool is_done = false;
    PGresult *result;
    while ((result = PQgetResult(pg->conn)) != NULL) {
        ExecStatusType status = PQresultStatus(result);
        if (code == FZ_OK && status == PGRES_COPY_OUT)
            code = read_copy(pg, ret, err);
        else if (code == FZ_OK && status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
            code = sql_pg_fail(pg, result, err);
        is_done = status == PGRES_COMMAND_OK;
        PQclear(result);
        if (PQstatus(pg->conn) != CONNECTION_OK)
            break;
    }
    return code == FZ_OK && !is_done ? sql_pg_fail(pg, NULL, err) : code;
}

enum fz_code
sql_pg_read_ints(struct sql *sql, const char *text, const struct sql_value *args, size_t n_args,
                 struct sql_ints *ret, struct fz_error *err)
{
    struct sql_pg *pg = sql_pg(sql);
    bool with_settings = !sql->in_tx && sql_pg_needs_settings(sql);
    char settings[SQL_PG_SETTINGS];
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer message = fz_buffer_make(0);
    if (with_settings) {
        /* In one message they are of one transaction. */
        sql_pg_settings(sql, settings);
        fz_buffer_printf(&message, "%s; ", settings);
    }
    fz_buffer_text(&message, "COPY (");
    enum fz_code code = append_query(pg->conn, text, args, n_args, &message, err);
    fz_buffer_text(&message, ") TO STDOUT (FORMAT binary)");
    if (code == FZ_OK)
        code = fz_buffer_done(&message, err);
    if (code != FZ_OK)
        return code;
    code = PQsendQuery(pg->conn, fz_buffer_cstr(&message)) ? read_results(pg, ret, err)
                                                           : sql_pg_fail(pg, NULL, err);
    if (with_settings)
        sql_pg_has_settings(sql, code == FZ_OK);
    return code;
}
