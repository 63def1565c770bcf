/*
 * The known name that a mistyped one was probably meant to be.
 *
 *   suggest_start(&s, "--jsno"); suggest_try(&s, "--json"); ... s.best is "--json", or ""
 */
#ifndef CONFIG_SUGGEST_H
#define CONFIG_SUGGEST_H

#include <stddef.h>

enum { SUGGEST_ROOM = 64 };

struct suggest {
    char word[SUGGEST_ROOM], best[SUGGEST_ROOM];
    unsigned distance; /* of best: letters added, dropped, changed or swapped */
    char question[SUGGEST_ROOM + 32];
};

void suggest_start(struct suggest *suggest, const char *word);
/* Keep `name` if it is nearer than what was tried before and near enough. Upper and lower case are
 * the same. */
void suggest_try(struct suggest *suggest, const char *name);
/* "; did you mean --json?" for the end of a message, "" without a name; borrowed from suggest. */
const char *suggest_question(struct suggest *suggest);

#endif
