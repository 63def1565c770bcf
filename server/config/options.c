#include "server/config/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/list.h"
#include "base/suggest.h"
#include "base/text.h"

enum { NAME_ROOM = 64, SHOWN = 60 };

const struct option_spec options_help = {
    .name = "help", .letter = 'h', .help = "Show this help and exit."};

bool
option_is_end(const struct option_spec *option)
{
    return !option->name && !option->letter;
}

const char *
option_default(const struct option_spec *option)
{
    return option->fallback ? option->fallback : option->initial;
}

bool
command_has_setting(const struct command_spec *command, const struct option_spec *setting)
{
    return (setting->roles & command->role) != 0;
}

void
option_show(const struct command_spec *command, const struct option_spec *option, char *ret,
            size_t size)
{
    if (option->name)
        snprintf(ret, size, "%s%s%s",
                 (command->flags & COMMAND_SINGLE_DASH) || option->single_dash ? "-" : "--",
                 option->is_negative ? "no-" : "", option->name);
    else
        snprintf(ret, size, "-%c", option->letter);
}

/* ---- values ------------------------------------------------------------------------------ */

enum fz_code
option_set_choice(const struct option_spec *option, void *field, const char *value FZ_UNUSED,
                  const char *where FZ_UNUSED, struct fz_error *err FZ_UNUSED)
{
    *(int *)field = option->value;
    return FZ_OK;
}

static enum fz_code
set_text(const char **field, const char *value, const char *where, struct fz_error *err)
{
    if (*value == '\0')
        return fz_fail(err, FZ_E_MALFORMED, "%s: the value is empty", where);
    *field = value;
    return FZ_OK;
}

enum fz_code
option_set_count(const struct option_spec *option, void *field, const char *value,
                 const char *where, struct fz_error *err)
{
    uint64_t number;
    if (!fz_text_u64(fz_span_cstr(value), &number) || number < option->min || number > option->max)
        return fz_fail(err, FZ_E_MALFORMED, "%s: '%.40s' is not a number from %llu to %llu", where,
                       value, (unsigned long long)option->min, (unsigned long long)option->max);
    *(uint64_t *)field = number;
    return FZ_OK;
}

enum fz_code
option_set_url(const struct option_spec *option FZ_UNUSED, void *field, const char *value,
               const char *where, struct fz_error *err)
{
    if (fz_address_check_url(value, err) != FZ_OK)
        return fz_wrap(err, "%s", where);
    return set_text(field, value, where, err);
}

enum fz_code
option_add_text(const struct option_spec *option FZ_UNUSED, void *field, const char *value,
                const char *where, struct fz_error *err)
{
    struct option_list *list = field;
    const char **items = fz_list_grow(NULL, list->items, &list->room, list->n + 1, sizeof(*items));
    if (!items)
        return fz_budget_fail(NULL, err);
    list->items = items;
    enum fz_code code = set_text(&items[list->n], value, where, err);
    list->n += code == FZ_OK;
    return code;
}

void
options_free_lists(const struct command_spec *command, void *values)
{
    for (const struct option_spec *o = command->options; o && !option_is_end(o); o++) {
        if (o->set == option_add_text)
            free(((struct option_list *)(void *)((char *)values + o->offset))->items);
    }
}

/* ---- names ------------------------------------------------------------------------------- */

typedef bool (*match_fn)(const struct option_spec *option, const char *name, size_t len);

static bool
has_name(const struct option_spec *option, const char *name, size_t len)
{
    if (option->is_negative) {
        if (len < 3 || strncmp(name, "no-", 3) != 0)
            return false;
        name += 3;
        len -= 3;
    }
    return option->name && strlen(option->name) == len && strncmp(option->name, name, len) == 0;
}

static bool
has_letter(const struct option_spec *option, const char *name, size_t len FZ_UNUSED)
{
    return option->letter && option->letter == *name;
}

/* Of the command's own options, the settings it has, and --help. */
static const struct option_spec *
find(const struct command_spec *command, match_fn match, const char *name, size_t len)
{
    for (const struct option_spec *o = command->options; o && !option_is_end(o); o++) {
        if (match(o, name, len))
            return o;
    }
    for (const struct option_spec *o = command->settings; o && !option_is_end(o); o++) {
        if (command_has_setting(command, o) && match(o, name, len))
            return o;
    }
    return match(&options_help, name, len) ? &options_help : NULL;
}

/* What the word names as an option, and where its joined value begins ("" for none). NULL: not a
 * known option. */
static const struct option_spec *
recognise(const struct command_spec *command, const char *word, const char **ret_joined)
{
    bool is_single = command->flags & COMMAND_SINGLE_DASH;
    const char *name = word + (word[1] == '-' ? 2 : 1);
    *ret_joined = NULL;
    /* With one dash, -l is a letter and -loadAddress a name. */
    if (word[1] == '-' || (is_single && word[2] != '\0')) {
        size_t len = strcspn(name, "=");
        if (name[len] == '=')
            *ret_joined = name + len + 1;
        return find(command, has_name, name, len);
    }
    const struct option_spec *found = find(command, has_name, name, strlen(name));
    if (found && found->single_dash)
        return found;
    found = find(command, has_letter, name, 1);
    if (found && name[1] != '\0')
        *ret_joined = name + 1;
    /* Letters are not bundled: a flag's letter with more after it is not an option. */
    return found && !found->argument && name[1] != '\0' ? NULL : found;
}

static bool
is_option(const struct command_spec *command, const char *word)
{
    if (word[0] != '-' || word[1] == '\0')
        return false;
    if (command->flags & COMMAND_DASH_OPERANDS)
        return word[1] == '-' || strcmp(word, "-h") == 0;
    return true;
}

static void
suggest_options(const struct command_spec *command, const struct option_spec *options,
                struct fz_suggest *suggest)
{
    for (const struct option_spec *o = options; o && !option_is_end(o); o++) {
        char shown[NAME_ROOM];
        if (o->name && (options != command->settings || command_has_setting(command, o))) {
            option_show(command, o, shown, sizeof(shown));
            fz_suggest_try(suggest, shown);
        }
    }
}

static enum fz_code
fail_unknown(const struct command_spec *command, const char *word, struct fz_error *err)
{
    struct fz_suggest suggest;
    char bare[NAME_ROOM];
    int len = (int)strcspn(word, "=");
    /* -json is compared as --json: a missing dash is the most likely mistake. */
    snprintf(bare, sizeof(bare), "%s%.*s",
             word[1] != '-' && !(command->flags & COMMAND_SINGLE_DASH) ? "-" : "",
             len < SHOWN ? len : SHOWN, word);
    fz_suggest_start(&suggest, bare);
    suggest_options(command, command->options, &suggest);
    suggest_options(command, command->settings, &suggest);
    fz_suggest_try(&suggest, "--help");
    return fz_fail(err, FZ_E_MALFORMED, "unknown option %.*s%s", len < SHOWN ? len : SHOWN, word,
                   fz_suggest_question(&suggest));
}

/* ---- one word after the other ------------------------------------------------------------ */

enum fz_code
options_next(const struct command_spec *command, int argc, char **argv, int *at,
             const struct option_spec **ret_option, const char **ret_value, struct fz_error *err)
{
    *ret_option = NULL;
    *ret_value = NULL;
    /* After "--" `at` is negative: everything else is an operand. */
    if (*at > 0 && *at < argc && strcmp(argv[*at], "--") == 0)
        *at = -(*at + 1);
    int i = *at < 0 ? -*at : *at;
    if (i >= argc)
        return FZ_OK;
    const char *word = argv[i], *joined;
    if (*at < 0 || !is_option(command, word)) {
        *at += *at < 0 ? -1 : 1;
        *ret_value = word;
        return FZ_OK;
    }
    const struct option_spec *option = recognise(command, word, &joined);
    if (!option)
        return fail_unknown(command, word, err);
    char shown[NAME_ROOM];
    option_show(command, option, shown, sizeof(shown));
    *at = i + 1;
    *ret_option = option;
    *ret_value = joined ? joined : "";
    /* A setting x that is --no-x has no value here, but one in the file. */
    if (!option->argument || option->is_negative)
        return joined ? fz_fail(err, FZ_E_MALFORMED, "%s takes no value", shown) : FZ_OK;
    if (joined)
        return FZ_OK;
    if (i + 1 >= argc)
        return fz_fail(err, FZ_E_MALFORMED, "%s needs a value: %s %s", shown, shown,
                       option->argument);
    const char *next = argv[i + 1], *ignored;
    /* A value may begin with dashes, but where a known option follows, its value was forgotten. */
    if (next[0] == '-' && next[1] == '-' && recognise(command, next, &ignored))
        return fz_fail(err, FZ_E_MALFORMED,
                       "%s needs a value, but the option %.40s comes next (%s=%.40s if that is the "
                       "value)",
                       shown, next, shown, next);
    *ret_value = next;
    *at = i + 2;
    return FZ_OK;
}

/* ---- all of them ------------------------------------------------------------------------- */

void
options_deinit(struct options *options)
{
    free(options->operands);
    *options = options_make();
}

static enum fz_code
set_own(const struct option_spec *option, void *values, const char *value, const char *where,
        struct fz_error *err)
{
    void *field = (char *)values + option->offset;
    if (option->set)
        return option->set(option, field, value, where, err);
    if (option->argument)
        return set_text(field, value, where, err);
    *(bool *)field = true;
    return FZ_OK;
}

static enum fz_code
set_initial(const struct command_spec *command, void *values, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (const struct option_spec *o = command->options; o && !option_is_end(o); o++) {
        if (code == FZ_OK && o->initial)
            code = set_own(o, values, o->initial, o->name, err);
    }
    return code;
}

/* A variable counts only where its option is not given: a wrong value that nothing uses is not an
 * error of this command line. */
static enum fz_code
set_from_variables(const struct command_spec *command, uint64_t given, void *values,
                   struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; command->options && !option_is_end(&command->options[i]); i++) {
        const struct option_spec *option = &command->options[i];
        const char *value = option->variable ? getenv(option->variable) : NULL;
        if (code == FZ_OK && value && !(given & UINT64_C(1) << i))
            code = set_own(option, values, value, option->variable, err);
    }
    return code;
}

/* The option's place in the command's own table; -1 for a setting. */
static int
own_place(const struct command_spec *command, const struct option_spec *option)
{
    for (int i = 0; command->options && !option_is_end(&command->options[i]); i++) {
        if (&command->options[i] == option)
            return i;
    }
    return -1;
}

/* The number of operands against the usage line: "" none, "FILE" one, "PATH..." any number. */
static enum fz_code
check_operands(const struct command_spec *command, const struct options *options,
               struct fz_error *err)
{
    const char *names = command->operands;
    /* No command has two operands with meanings of their own. */
    size_t max = names[0] == '\0' ? 0 : strstr(names, "...") ? SIZE_MAX : 1;
    if (options->n_operands > max)
        return fz_fail(err, FZ_E_MALFORMED, "unexpected argument '%.60s'%s%s",
                       options->operands[max], max ? "; only one is accepted: " : "",
                       max ? names : "");
    if (command->flags & COMMAND_NEEDS_OPERANDS) {
        if (options->n_operands == 0)
            return fz_fail(err, FZ_E_MALFORMED, "%.*s is missing", (int)strcspn(names, " ."),
                           names);
        for (size_t i = 0; i < options->n_operands; i++) {
            /* "$FILE" with an unset variable: as a path it would only be "not found". */
            if (options->operands[i][0] == '\0')
                return fz_fail(err, FZ_E_MALFORMED, "%.*s is empty", (int)strcspn(names, " ."),
                               names);
        }
    }
    return FZ_OK;
}

enum fz_code
options_parse(const struct command_spec *command, int argc, char **argv, void *values,
              struct options *ret, struct fz_error *err)
{
    FZ_CLEANUP(options_deinit) struct options options = options_make();
    options.operands = calloc((size_t)argc + 1, sizeof(*options.operands));
    if (!options.operands)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    uint64_t given = 0; /* a bit for each of the command's own options */
    enum fz_code code = set_initial(command, values, err);
    for (int at = 1; code == FZ_OK;) {
        const struct option_spec *option;
        const char *value;
        code = options_next(command, argc, argv, &at, &option, &value, err);
        if (code != FZ_OK)
            return code;
        if (!option && !value)
            break;
        if (!option) {
            options.operands[options.n_operands++] = value;
            continue;
        }
        if (option == &options_help) {
            /* What follows is not read: it may be what help is wanted for. */
            ret->wants_help = true;
            return FZ_OK;
        }
        char shown[NAME_ROOM];
        int place = own_place(command, option);
        option_show(command, option, shown, sizeof(shown));
        if (place >= 0) {
            given |= UINT64_C(1) << place;
            code = set_own(option, values, value, shown, err);
        }
    }
    if (code == FZ_OK)
        code = check_operands(command, &options, err);
    if (code == FZ_OK)
        code = set_from_variables(command, given, values, err);
    if (code != FZ_OK)
        return code;
    *ret = options;
    options = options_make();
    return FZ_OK;
}
