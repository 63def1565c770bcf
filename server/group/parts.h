/*
 * What the files of this folder call in each other. Private to it.
 */
#ifndef GROUP_PARTS_H
#define GROUP_PARTS_H

#include "server/group/group.h"

/* ---- class.c ---- */

/* Kind, exception, trap, termination and message. False when memory is out. */
bool group_set_class(const struct report *report, struct fz_arena *arena,
                     struct group_stack *stack);
/* Is it a C++ exception that no one caught? Its type is part of the variant and not of the key: an
 * .ips, PLCrashReporter and MetricKit lack it. */
bool group_is_cxx_crash(const struct group_stack *stack);
/* The name of a language exception, NULL where it says nothing. */
const char *group_exception_name(const char *name);

/* ---- rules.c ---- */

/* Does `text` have the form of the pattern? * stands for any text, ? for one byte. In time of their
 * product at most. */
bool group_matches(const char *pattern, const char *text);
/* The last of the project's rules with one of the effects that matches; NULL = none. `effects` has a
 * bit for each. */
const struct group_rule *group_rules_find(const struct group_rules *rules,
                                          const struct group_stack *stack,
                                          const struct group_frame *frame, unsigned effects);

/* ---- builtin.c ---- */

/* What a rule of apple-1 says of frames that carry no information. */
struct group_skip {
    const char *rule;
    bool is_base; /* where threads begin: the app's main() is one */
};
/* The rule for the frame; NULL = none. */
const struct group_skip *group_builtin_skip(const struct group_stack *stack,
                                            const struct group_frame *frame);

/* ---- cycle.c ---- */

/* A part of the stack that repeats: frames first to first + period - 1, and again `times` times. */
struct group_cycle {
    size_t first, period, times;
};
/* Does the stack end in recursion that goes on until its memory is full? */
bool group_find_cycle(const struct group_stack *stack, struct group_cycle *ret);

/* ---- words.c ---- */

/* The text on one line: a space for each character that is not shown. NULL when memory is out. */
const char *group_line(const char *text, struct fz_arena *arena);

/* The class in words, with the type of a C++ exception or without. False when memory is out; so are
 * the following. */
bool group_class_text(const struct group_stack *stack, bool with_type, struct fz_arena *arena,
                      const char **ret);
/* title and words, once all else of the key is set. */
bool group_explain(const struct group_stack *stack, struct fz_arena *arena, struct group_key *key);

#endif
