#include "server/api/api_alert_rules.h"

#include <stddef.h>
#include <stdio.h>

#include "server/api/api_answer.h"

struct rule {
    const char *name;
    size_t offset; /* in struct store_watch_rules */
    unsigned min, max;
};

static const struct rule rules_table[] = {
    {"urgent_ppm", offsetof(struct store_watch_rules, urgent_ppm), 0, STORE_PPM},
    {"urgent_users", offsetof(struct store_watch_rules, urgent_users), 1, 1000000},
    {"urgent_window_s", offsetof(struct store_watch_rules, window_s), 60, 24 * 3600},
    {"healthy_ppm", offsetof(struct store_watch_rules, healthy_ppm), 0, STORE_PPM},
    {"healthy_sessions", offsetof(struct store_watch_rules, healthy_sessions), 1, 1000000000},
};

static unsigned *
member_of(struct store_watch_rules *rules, const struct rule *rule)
{
    return (unsigned *)(void *)((char *)rules + rule->offset);
}

void
api_alert_rules_write(struct json_write *w, const struct store_watch_rules *rules)
{
    struct store_watch_rules copy = *rules;
    json_write_open(w, "alerts", '{');
    for (size_t i = 0; i < FZ_ARRAY_LEN(rules_table); i++)
        json_write_u64(w, rules_table[i].name, *member_of(&copy, &rules_table[i]));
    json_write_close(w, '}');
}

static enum fz_code
wrong(struct api_call *call, const char *name, struct fz_error *err, const char *what)
{
    char path[80];
    snprintf(path, sizeof(path), "alerts%s%.40s", *name ? "." : "", name);
    call->detail = api_path_detail(call, path, -1);
    return fz_fail(err, FZ_E_MALFORMED, "alerts%s%s: %s", *name ? "." : "", name, what);
}

enum fz_code
api_alert_rules_read(struct api_call *call, const json_t *root, struct store_watch_rules *ret,
                     bool *ret_any, struct fz_error *err)
{
    const json_t *alerts = json_object_get(root, "alerts");
    size_t n_known = 0;
    if (!alerts)
        return FZ_OK;
    *ret_any = true;
    if (!json_is_object(alerts))
        return wrong(call, "", err, "not an object");
    for (size_t i = 0; i < FZ_ARRAY_LEN(rules_table); i++) {
        const struct rule *rule = &rules_table[i];
        const json_t *value = json_object_get(alerts, rule->name);
        char what[80];
        if (!value)
            continue;
        n_known++;
        snprintf(what, sizeof(what), "not a number from %u to %u", rule->min, rule->max);
        if (!json_is_integer(value) || json_integer_value(value) < rule->min ||
            json_integer_value(value) > rule->max)
            return wrong(call, rule->name, err, what);
        *member_of(ret, rule) = (unsigned)json_integer_value(value);
    }
    if (n_known != json_object_size(alerts))
        return wrong(call, "", err,
                     "an unknown member; known: urgent_ppm, urgent_users, urgent_window_s, "
                     "healthy_ppm, healthy_sessions");
    return FZ_OK;
}
