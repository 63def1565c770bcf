/* The table of fields that conditions can be about. */
#include "storage/store_query.h"

#include <assert.h>

#include "base/attr.h"

/* A row's allowed operators. */
enum {
    COMPARES = 1u << STORE_OP_LESS | 1u << STORE_OP_AT_MOST | 1u << STORE_OP_GREATER |
               1u << STORE_OP_AT_LEAST,
    NAMES = 1u << STORE_OP_EQUAL | 1u << STORE_OP_WILDCARD | 1u << STORE_OP_PRESENT,
    NAMES_ANY_CASE = NAMES | 1u << STORE_OP_ANY_CASE,
    PARTS = NAMES | 1u << STORE_OP_CONTAINS
};

static const struct store_field_row rows[] = {
    [STORE_FIELD_VERSION] = {.name = "version",
                             .type = STORE_FIELD_TYPE_VERSION,
                             .plain = STORE_OP_EQUAL,
                             .ops = NAMES | COMPARES,
                             .help = "version of the app"},
    [STORE_FIELD_BUILD] = {.name = "build",
                           .type = STORE_FIELD_TYPE_BUILD,
                           .plain = STORE_OP_EQUAL,
                           .ops = NAMES | COMPARES,
                           .help = "build of the app"},
    [STORE_FIELD_RELEASE] = {.name = "release",
                             .plain = STORE_OP_EQUAL,
                             .ops = NAMES,
                             .help = "APP_ID@VERSION+BUILD"},
    [STORE_FIELD_OS] = {.name = "os",
                        .type = STORE_FIELD_TYPE_OS,
                        .plain = STORE_OP_ANY_CASE,
                        .ops = NAMES_ANY_CASE | COMPARES,
                        .help = "name of the system, its version, or both"},
    [STORE_FIELD_OS_VERSION] = {.name = "os_version",
                                .type = STORE_FIELD_TYPE_VERSION,
                                .plain = STORE_OP_EQUAL,
                                .ops = NAMES | COMPARES,
                                .help = "version of the system"},
    [STORE_FIELD_OS_BUILD] = {.name = "os_build",
                              .type = STORE_FIELD_TYPE_BUILD,
                              .plain = STORE_OP_EQUAL,
                              .ops = NAMES,
                              .help = "build of the system"},
    [STORE_FIELD_DEVICE] = {.name = "device",
                            .plain = STORE_OP_ANY_CASE,
                            .ops = NAMES_ANY_CASE,
                            .help = "model of the device"},
    [STORE_FIELD_ARCH] = {.name = "arch",
                          .plain = STORE_OP_ANY_CASE,
                          .ops = NAMES_ANY_CASE,
                          .help = "architecture"},
    [STORE_FIELD_ENVIRONMENT] = {.name = "environment",
                                 .alias = "env",
                                 .plain = STORE_OP_ANY_CASE,
                                 .ops = NAMES_ANY_CASE,
                                 .help = "environment that the app names"},
    [STORE_FIELD_APP] = {.name = "app",
                         .plain = STORE_OP_ANY_CASE,
                         .ops = NAMES_ANY_CASE,
                         .is_searched = true,
                         .help = "id or name of the app"},
    [STORE_FIELD_STATUS] = {.name = "status",
                            .type = STORE_FIELD_TYPE_CHOICE,
                            .plain = STORE_OP_EQUAL,
                            .ops = 1u << STORE_OP_EQUAL,
                            .choices = "queued, symbolicated, partial, unsymbolicated, failed",
                            .help = "how far the report is"},
    [STORE_FIELD_KIND] = {.name = "kind",
                          .type = STORE_FIELD_TYPE_CHOICE,
                          .plain = STORE_OP_EQUAL,
                          .ops = 1u << STORE_OP_EQUAL,
                          .choices = "crash, hang, cpu, disk_write, launch, memory, error, message",
                          .help = "what happened"},
    [STORE_FIELD_FORMAT] = {.name = "format",
                            .plain = STORE_OP_ANY_CASE,
                            .ops = NAMES_ANY_CASE,
                            .help = "format that the report came in"},
    [STORE_FIELD_EXCEPTION] = {.name = "exception",
                               .plain = STORE_OP_ANY_CASE,
                               .ops = NAMES_ANY_CASE,
                               .is_searched = true,
                               .help = "name of the language's exception"},
    [STORE_FIELD_SIGNAL] = {.name = "signal",
                            .plain = STORE_OP_ANY_CASE,
                            .ops = NAMES_ANY_CASE,
                            .is_searched = true,
                            .help = "signal"},
    [STORE_FIELD_MACH] = {.name = "mach",
                          .plain = STORE_OP_ANY_CASE,
                          .ops = NAMES_ANY_CASE,
                          .help = "Mach exception"},
    [STORE_FIELD_CODE] = {.name = "code",
                          .plain = STORE_OP_ANY_CASE,
                          .ops = NAMES_ANY_CASE,
                          .help = "code of the Mach exception"},
    [STORE_FIELD_FUNCTION] = {.name = "function",
                              .type = STORE_FIELD_TYPE_PART,
                              .plain = STORE_OP_CONTAINS,
                              .ops = PARTS,
                              .is_searched = true,
                              .help = "part of a function of the stack"},
    [STORE_FIELD_FILE] = {.name = "file",
                          .type = STORE_FIELD_TYPE_PART,
                          .plain = STORE_OP_CONTAINS,
                          .ops = PARTS,
                          .is_searched = true,
                          .help = "part of a file of the stack"},
    [STORE_FIELD_REASON] = {.name = "reason",
                            .alias = "message",
                            .type = STORE_FIELD_TYPE_PART,
                            .plain = STORE_OP_CONTAINS,
                            .ops = PARTS,
                            .is_searched = true,
                            .help = "part of the reason or message"},
    [STORE_FIELD_TEXT] =
        {.name = "text",
         .type = STORE_FIELD_TYPE_PART,
         .plain = STORE_OP_CONTAINS,
         .ops = 1u << STORE_OP_CONTAINS,
         .is_searched = true,
         .help = "part of any text that is searched; a word without a key is the same"},
    [STORE_FIELD_USER] = {.name = "user",
                          .plain = STORE_OP_EQUAL,
                          .ops = NAMES,
                          .help = "id of the user; without an id, the e-mail address or the name"},
    [STORE_FIELD_TAG] = {.name = "tag",
                         .type = STORE_FIELD_TYPE_TAG,
                         .plain = STORE_OP_ANY_CASE,
                         .ops = NAMES_ANY_CASE,
                         .help = "value of a tag: tag.NAME:VALUE or tag:NAME=VALUE"},
    [STORE_FIELD_RUN] = {.name = "run",
                         .alias = "run_id",
                         .plain = STORE_OP_EQUAL,
                         .ops = 1u << STORE_OP_EQUAL | 1u << STORE_OP_PRESENT,
                         .help = "id of the app's run"},
    [STORE_FIELD_IMAGE] = {.name = "image",
                           .plain = STORE_OP_ANY_CASE,
                           .ops = NAMES_ANY_CASE,
                           .help = "name of an image"},
    [STORE_FIELD_UUID] = {.name = "uuid",
                          .type = STORE_FIELD_TYPE_UUID,
                          .plain = STORE_OP_EQUAL,
                          .ops = 1u << STORE_OP_EQUAL,
                          .help = "UUID of an image, in any spelling"},
    [STORE_FIELD_ID] = {.name = "id",
                        .type = STORE_FIELD_TYPE_UUID,
                        .plain = STORE_OP_EQUAL,
                        .ops = 1u << STORE_OP_EQUAL | 1u << STORE_OP_WILDCARD,
                        .help = "id of the report; 8c1f* for its beginning"},
    [STORE_FIELD_RECEIVED] = {.name = "received",
                              .type = STORE_FIELD_TYPE_TIME,
                              .plain = STORE_OP_AT_LEAST,
                              .ops = COMPARES,
                              .help = "when the report was received"},
    [STORE_FIELD_CRASHED] = {.name = "crashed",
                             .alias = "timestamp",
                             .type = STORE_FIELD_TYPE_TIME,
                             .plain = STORE_OP_AT_LEAST,
                             .ops = COMPARES | 1u << STORE_OP_PRESENT,
                             .help = "when it happened, by the device's clock"},
    [STORE_FIELD_VARIANT] = {.name = "variant",
                             .type = STORE_FIELD_TYPE_NUMBER,
                             .plain = STORE_OP_EQUAL,
                             .ops = 1u << STORE_OP_EQUAL,
                             .help = "number of a variant of an issue"},
    [STORE_FIELD_ISSUE] = {.name = "issue",
                           .type = STORE_FIELD_TYPE_NUMBER,
                           .plain = STORE_OP_EQUAL,
                           .ops = 1u << STORE_OP_EQUAL | 1u << STORE_OP_PRESENT,
                           .is_of_issue = true,
                           .help = "number of the issue"},
    [STORE_FIELD_IS] = {.name = "is",
                        .type = STORE_FIELD_TYPE_CHOICE,
                        .plain = STORE_OP_EQUAL,
                        .ops = 1u << STORE_OP_EQUAL,
                        .is_of_issue = true,
                        .choices =
                            "open, resolved, ignored, regressed, new, unassigned, placeholder",
                        .help = "state of the issue"},
    [STORE_FIELD_ASSIGNEE] = {.name = "assignee",
                              .alias = "assigned",
                              .plain = STORE_OP_ANY_CASE,
                              .ops = NAMES_ANY_CASE,
                              .is_of_issue = true,
                              .help = "whose issue it is"},
    [STORE_FIELD_FIRST_SEEN] = {.name = "first_seen",
                                .type = STORE_FIELD_TYPE_TIME,
                                .plain = STORE_OP_AT_LEAST,
                                .ops = COMPARES,
                                .is_of_issue = true,
                                .help = "when the issue's first report was received"},
    [STORE_FIELD_LAST_SEEN] = {.name = "last_seen",
                               .alias = "seen",
                               .type = STORE_FIELD_TYPE_TIME,
                               .plain = STORE_OP_AT_LEAST,
                               .ops = COMPARES,
                               .is_of_issue = true,
                               .help = "when the issue's newest report was received"},
    [STORE_FIELD_INTRODUCED] = {.name = "introduced",
                                .plain = STORE_OP_EQUAL,
                                .ops = NAMES,
                                .is_of_issue = true,
                                .help = "lowest version with the issue"},
    [STORE_FIELD_FIXED] = {.name = "fixed",
                           .plain = STORE_OP_EQUAL,
                           .ops = NAMES,
                           .is_of_issue = true,
                           .help = "version that the issue is resolved in"},
};

static bool
is_name(const char *name, struct fz_span text)
{
    size_t len = name ? strlen(name) : 0;
    if (len == 0 || len != text.len)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = (char)text.data[i];
        if (name[i] != (c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c))
            return false;
    }
    return true;
}

const struct store_field_row *
store_field_row(enum store_field field)
{
    _Static_assert(FZ_ARRAY_LEN(rows) == STORE_FIELDS, "each field has a row");
    assert(field < STORE_FIELDS);
    return &rows[field];
}

enum store_field
store_field_find(struct fz_span name)
{
    size_t i = 0;
    while (i < STORE_FIELDS && !is_name(rows[i].name, name) && !is_name(rows[i].alias, name))
        i++;
    return (enum store_field)i;
}

bool
store_field_allows(enum store_field field, enum store_op op)
{
    return store_field_row(field)->ops >> op & 1;
}
