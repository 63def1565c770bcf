/*
 * The known name that a mistyped one was probably meant to be.
 *
 *   fz_suggest_start(&s, "--jsno"); fz_suggest_try(&s, "--json"); ... s.best is "--json", or ""
 */
#ifndef FZ_SUGGEST_H
#define FZ_SUGGEST_H

#include <stddef.h>

enum { FZ_SUGGEST_ROOM = 64 };

struct fz_suggest {
    char word[FZ_SUGGEST_ROOM], best[FZ_SUGGEST_ROOM];
    unsigned distance; /* of best: letters added, dropped, changed or swapped */
    char question[FZ_SUGGEST_ROOM + 32];
};

void fz_suggest_start(struct fz_suggest *suggest, const char *word);
/* Keep `name` if it is nearer than what was tried before and near enough. Upper and lower case are
 * the same. */
void fz_suggest_try(struct fz_suggest *suggest, const char *name);
/* "; did you mean --json?" for the end of a message, "" without a name; borrowed from suggest. */
const char *fz_suggest_question(struct fz_suggest *suggest);

#endif
