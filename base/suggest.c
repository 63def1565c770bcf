#include "base/suggest.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static unsigned
min(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: insertions, deletions, changes, and swaps of neighbours. */
static unsigned
distance(const char *a, const char *b)
{
    unsigned rows[3][FZ_SUGGEST_ROOM + 1];
    /* Three rows of the table are enough: a swap looks two rows back. */
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    size_t len_a = strlen(a), len_b = strlen(b);
    for (size_t j = 0; j <= len_b; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= len_a; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= len_b; j++) {
            bool is_same = a[i - 1] == b[j - 1];
            row[j] = min(min(last[j], row[j - 1]) + 1, last[j - 1] + (is_same ? 0 : 1));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = min(row[j], before[j - 2] + 1);
        }
        unsigned *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[len_b];
}

static void
copy_lower(const char *text, char ret[FZ_SUGGEST_ROOM])
{
    size_t n = 0;
    for (; text[n] && n < FZ_SUGGEST_ROOM - 1; n++)
        ret[n] = (char)tolower((unsigned char)text[n]);
    ret[n] = '\0';
}

void
fz_suggest_start(struct fz_suggest *suggest, const char *word)
{
    *suggest = (struct fz_suggest){.distance = UINT_MAX};
    copy_lower(word, suggest->word);
}

void
fz_suggest_try(struct fz_suggest *suggest, const char *name)
{
    char lower[FZ_SUGGEST_ROOM];
    copy_lower(name, lower);
    size_t len = strlen(suggest->word), bare = len - strspn(suggest->word, "-");
    unsigned found = distance(suggest->word, lower);
    /* A name that was cut short, as getopt accepts it. */
    if (bare >= 2 && strncmp(lower, suggest->word, len) == 0)
        found = min(found, 1);
    /* Short words resemble each other by chance. */
    unsigned most = bare <= 3 ? 1 : bare <= 6 ? 2 : 3;
    /* Of two that are as near, the first stays. */
    if (found > most || found >= suggest->distance || strlen(name) >= FZ_SUGGEST_ROOM)
        return;
    suggest->distance = found;
    snprintf(suggest->best, sizeof(suggest->best), "%s", name);
}

const char *
fz_suggest_question(struct fz_suggest *suggest)
{
    if (suggest->best[0])
        snprintf(suggest->question, sizeof(suggest->question), "; did you mean %s?", suggest->best);
    return suggest->question;
}
