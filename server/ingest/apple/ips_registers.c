/*
 * The registers of a thread, as .ips has them:
 *
 *   arm64  {"x":[{"value":21},...29],"flavor":"ARM_THREAD_STATE64","lr":{"value":4362092556},...}
 *   arm    {"r":[{"value":1},...13],"sp":...}
 *   x86    {"rax":{"value":1},...,"rosetta":{"tmp0":{"value":92}},"flavor":"x86_THREAD_STATE"}
 *
 * A value may come with what it points at: {"value":8021,"symbol":"_main_thread",
 * "symbolLocation":0}, or with its meaning: {"value":2449473540,"description":"(Data Abort) ..."}.
 */
#include "server/ingest/apple/ips.h"

#include <stdio.h>

#include "base/json/scan.h"

enum { NAME_ROOM = 48 };

struct registers {
    struct ingest_builder *b;
    const char *where;
    struct report_thread *thread;
    json_t *notable; /* {"esr":{"description":"..."}} */
};

static void
read_register(struct registers *r, const char *name, const json_t *value)
{
    static const char *const known[] = {"value", "matchesCrashFrame", NULL};
    uint64_t number;
    if (!json_scan_u64(json_is_object(value) ? json_object_get(value, "value") : value, &number)) {
        ingest_note(r->b, "%s.%s: not a register's value", r->where, name);
        return;
    }
    ingest_add_register(r->b, r->thread, fz_span_cstr(name), number);
    /* What is beside the value, as its meaning. */
    if (json_is_object(value))
        ingest_json_rest(r->b, value, known, r->notable, name);
}

static void
read_list(struct registers *r, const char *prefix, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list) && i < INGEST_REGISTERS_MAX; i++) {
        char name[NAME_ROOM];
        snprintf(name, sizeof(name), "%s%zu", prefix, i);
        read_register(r, name, json_array_get(list, i));
    }
}

static void
read_group(struct registers *r, const char *group, const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        char name[NAME_ROOM];
        snprintf(name, sizeof(name), "%s.%s", group, key);
        read_register(r, name, value);
    }
}

void
ingest_ips_read_registers(struct ingest_builder *b, const json_t *state, const char *where,
                          struct report_thread *thread)
{
    json_auto_t *notable = json_object();
    struct registers r = {b, where, thread, notable};
    const char *key;
    json_t *value;
    b->failed = b->failed || !notable;
    json_object_foreach((json_t *)(uintptr_t)state, key, value)
    {
        if (json_is_string(value)) /* flavor */
            continue;
        /* arm64 lists x0 to x28 without names; processors without such a list have flat names. */
        if (json_is_array(value))
            read_list(&r, key, value);
        else if (json_is_object(value) && !json_object_get(value, "value"))
            read_group(&r, key, value);
        else
            read_register(&r, key, value);
    }
    thread->notable_json = ingest_json_dump(b, notable, NULL);
}
