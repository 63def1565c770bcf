/*
 * What the end of a report says about its issue: the stack that it has in common with others, the
 * key of that stack under the project's rules, and the variant under the key.
 *
 * Storage knows nothing of how they are made (server/group does): it stores each distinct stack,
 * key and variant once and counts reports by variant.
 */
#ifndef STORE_GROUPING_H
#define STORE_GROUPING_H

#include "base/digest.h"
#include "base/span.h"

enum {
    STORE_STACK_TEXTS = 128,        /* functions and files of one stack that are searched for */
    STORE_STACK_BYTES = 256 * 1024, /* of an encoded stack */
    STORE_KEY_VARIANTS = 500        /* of one key; further ones count as one */
};

struct store_grouping {
    int64_t rules_version; /* store_project.rules_version of the rules that made the key */
    struct fz_span stack;  /* encoded; the same bytes = the same stack */
    const char *const *functions, *const *files; /* of the stack, to search by; any order */
    size_t n_functions, n_files;
    uint8_t key[FZ_SHA256_LEN];
    const char *title; /* of the issue: "checkout(int)" */
    /* The key is made of addresses, since no names are known. Once they are, the issue takes the
     * real key and keeps its number. */
    bool is_placeholder;
    uint8_t variant[FZ_SHA256_LEN];
    const char *variant_label; /* "SIGSEGV at checkout.swift:12" */
};

#endif
