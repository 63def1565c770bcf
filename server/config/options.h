/*
 * The command line of each sub-command as one table: parsing, --help, the manual page and the
 * completions of bash and zsh are all made from it.
 *
 * A command defines a struct command_spec with its options (a table that ends with an empty entry),
 * and a struct for their values; options_parse() stores each value in that struct. Settings, which
 * several commands share and which also come from a file and from variables, are in the table of
 * server/config/settings.c; options_parse() checks and skips them, config_load() reads them.
 */
#ifndef CONFIG_OPTIONS_H
#define CONFIG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

struct option_spec;
struct command_call;

/*
 * Check `value` and store it in the option's field. `where` names the option, the variable, or the
 * file and line in messages. `value` is "" for an option without an argument.
 */
typedef enum fz_code (*option_set_fn)(const struct option_spec *option, void *field,
                                      const char *value, const char *where, struct fz_error *err);

struct option_spec {
    const char *name;     /* the long name, without dashes; NULL: there is only the letter */
    char letter;          /* the short name; 0 = none */
    const char *argument; /* what the value is: "FILE"; NULL: the option takes none */
    const char *help;     /* one or more sentences without a line break */
    const char *more;     /* further sentences, for the manual page and README.md; NULL = none */
    const char *see;      /* a page of docs/ about it, for README.md; NULL = none */
    const char *complete; /* the value for completions: "file", "dir", or words; NULL = anything */
    option_set_fn set;    /* NULL: an option's value is a text, and a flag without `argument` */
    size_t offset, size;  /* of the field in the struct of values; the size of a text setting */
    uint64_t min, max;    /* of option_set_count() and option_set_size() */
    int value;            /* of option_set_choice() */
    unsigned roles;       /* a setting: the commands that have it */
    const char *variable; /* FRAMEZERO_X; NULL = none */
    const char *initial;  /* the value that is set before anything else; NULL = none */
    const char
        *fallback;    /* the default in words, where there is no `initial` or it says too little */
    bool single_dash; /* -name as well, as Apple's tools have it */
    bool is_negative; /* the setting x is the option --no-x, which means "no" */
};

struct command_example {
    const char *command, *what;
};

enum {
    COMMAND_SINGLE_DASH = 1,    /* long options may begin with one dash, as Apple's atos has them */
    COMMAND_DASH_OPERANDS = 2,  /* only two dashes begin an option; "-[Shop pay]" is an operand */
    COMMAND_NEEDS_OPERANDS = 4, /* at least one */
    COMMAND_HIDDEN = 8,
};

struct command_spec {
    const char *name;        /* "upload", "token create" */
    const char *summary;     /* one line, for the list of commands */
    const char *operands;    /* "PATH..."; "" = none. Several only with "..." */
    const char *required;    /* shown before [OPTIONS] in the usage line: "-o FILE"; NULL = none */
    const char *description; /* paragraphs, separated by empty lines */
    const char *complete;    /* the operands, as in option_spec */
    unsigned flags;
    const struct option_spec *options; /* NULL = it has only settings */
    const struct option_spec *settings;
    unsigned role;                               /* which of the settings */
    size_t values_size;                          /* of the struct that `options` fill in */
    const void *defaults;                        /* what that begins with; NULL = zeros */
    const struct command_example *examples;      /* ends with NULL; NULL = none */
    const struct command_spec *const *actions;   /* "create" of token...; ends with NULL; or NULL */
    int (*run)(const struct command_call *call); /* returns the exit code */
};

/* A command line that has been read: what a command runs with. */
struct command_call {
    const struct command_spec *command;
    const struct command_spec *const *commands; /* all of the program; ends with NULL */
    int argc;
    char **argv;  /* as main() has it, from the last word of the command's name on */
    void *values; /* the struct of `options` */
    const char **operands;
    size_t n_operands;
};

/* Setters. The comment after each is the field's type; a flag is a bool, and a text without a
 * setter a const char *, borrowed. */
FZ_MUST_CHECK enum fz_code option_set_choice(const struct option_spec *option, void *field,
                                             const char *value, const char *where,
                                             struct fz_error *err); /* int: option->value */
FZ_MUST_CHECK enum fz_code option_set_count(const struct option_spec *option, void *field,
                                            const char *value, const char *where,
                                            struct fz_error *err); /* uint64_t, min to max */
FZ_MUST_CHECK enum fz_code option_set_url(const struct option_spec *option, void *field,
                                          const char *value, const char *where,
                                          struct fz_error *err); /* const char *, borrowed */
struct option_list {
    const char **items; /* borrowed texts */
    size_t n, room;
};
/* struct option_list: one more; options_free_lists() frees those of a command. */
FZ_MUST_CHECK enum fz_code option_add_text(const struct option_spec *option, void *field,
                                           const char *value, const char *where,
                                           struct fz_error *err);
void options_free_lists(const struct command_spec *command, void *values);

struct options {
    bool wants_help; /* --help or -h was given; the rest is not set */
    size_t n_operands;
    const char **operands; /* borrowed from argv; the array is owned */
};
void options_deinit(struct options *options);
static inline struct options
options_make(void)
{
    return (struct options){.operands = NULL};
}

/*
 * Read argv (argv[0] is the command's name) into the struct `values` of the command; NULL if it has
 * no options of its own. What is not in argv comes from the option's variable, else it is
 * `initial`. argv keeps its order.
 *
 * MALFORMED: wrong usage; the text is a message for the user, without the program's name.
 */
FZ_MUST_CHECK enum fz_code options_parse(const struct command_spec *command, int argc, char **argv,
                                         void *values, struct options *ret, struct fz_error *err);

/*
 * One option after the other, for those who take some of them. `at` is the index in argv where to
 * go on, first 1. *ret_option NULL: *ret_value is an operand; both NULL: the end.
 */
FZ_MUST_CHECK enum fz_code options_next(const struct command_spec *command, int argc, char **argv,
                                        int *at, const struct option_spec **ret_option,
                                        const char **ret_value, struct fz_error *err);

/* Both end their table. */
bool option_is_end(const struct option_spec *option);
/* The default as it is shown; NULL = none. */
const char *option_default(const struct option_spec *option);
/* True if the command has this setting. */
bool command_has_setting(const struct command_spec *command, const struct option_spec *setting);
/* "--public-url", "-o", "--no-migrate" as a person types it. */
void option_show(const struct command_spec *command, const struct option_spec *option, char *ret,
                 size_t size);

/* --help and -h, which every command has. */
extern const struct option_spec options_help;

#endif
