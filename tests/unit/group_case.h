/* Reports for the tests of grouping, from short texts. */
#ifndef GROUP_CASE_H
#define GROUP_CASE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/text.h"
#include "server/group/group.h"
#include "server/report/report.h"

enum { CASE_FRAMES = 600, CASE_IMAGES = 8 };

struct group_case {
    struct fz_arena arena;
    struct report report;
    struct report_image images[CASE_IMAGES];
    struct report_frame frames[CASE_FRAMES];
    struct report_thread thread;
};

static inline int
case_image(struct group_case *c, const char *name)
{
    for (size_t i = 0; i < c->report.n_images; i++) {
        if (strcmp(c->images[i].name, name) == 0)
            return (int)i;
    }
    struct report_image *image = &c->images[c->report.n_images];
    assert_true(c->report.n_images < CASE_IMAGES);
    *image = (struct report_image){
        .name = fz_arena_strdup(&c->arena, name), .has_uuid = true, .state = REPORT_IMAGE_MISSING};
    memset(image->uuid.bytes, (int)c->report.n_images + 1, sizeof(image->uuid.bytes));
    bool own = strcmp(name, "Shop") == 0;
    bool kit = strcmp(name, "Kit") == 0 || strcmp(name, "Bugsnag") == 0;
    const char *folder = own                               ? "/a/Shop.app"
                         : kit                             ? "/a/Shop.app/Frameworks/Kit.framework"
                         : fz_text_has_prefix(name, "lib") ? "/usr/lib"
                                                           : "/System/Library/Frameworks";
    const char *path = fz_arena_printf(&c->arena, "%s/%s", folder, name);
    /* Formats without paths. */
    image->path = strcmp(name, "Bare") == 0 ? NULL : path;
    if (own || kit)
        image->state = REPORT_IMAGE_FOUND;
    return (int)c->report.n_images++;
}

static inline void
case_init(struct group_case *c)
{
    *c = (struct group_case){.arena = fz_arena_make(64 << 20)};
    c->report = (struct report){.process.name = "Shop",
                                .process.path = "/a/Shop.app/Shop",
                                .images = c->images,
                                .threads = &c->thread,
                                .n_threads = 1};
    c->thread.crashed = true;
    c->thread.frames = c->frames;
    case_image(c, "Shop"); /* the executable is the first image */
}

/*
 * Add a frame: "IMAGE|FUNCTION|FILE:LINE", calls that were inlined into it before it, separated by
 * ";": "Shop|inner|/src/a.c:2;outer|/src/a.c:9". Without a function it has no name. "?" is no image.
 */
static inline void
case_add(struct group_case *c, const char *text)
{
    struct report_frame *frame = &c->frames[c->thread.n_frames];
    char *copy = fz_arena_strdup(&c->arena, text), *rest = strchr(copy, '|');
    assert_true(c->thread.n_frames < CASE_FRAMES);
    if (rest)
        *rest++ = '\0';
    *frame = (struct report_frame){.image = strcmp(copy, "?") == 0 ? -1 : case_image(c, copy),
                                   .has_image_offset = true,
                                   .image_offset = 0x1000 + 16 * c->thread.n_frames};
    frame->symbols = fz_arena_array(&c->arena, 8, sizeof(*frame->symbols));
    while (rest && *rest) {
        struct report_symbol *symbol = &frame->symbols[frame->n_symbols++];
        char *next = strchr(rest, ';'), *file;
        if (next)
            *next++ = '\0';
        *symbol = (struct report_symbol){.inlined = next != NULL, .source = "dwarf"};
        if ((file = strchr(rest, '|'))) {
            *file++ = '\0';
            char *line = strrchr(file, ':');
            symbol->line = line ? (uint32_t)strtoul(line + 1, NULL, 10) : 0;
            if (line)
                *line = '\0';
            symbol->file = file;
        }
        symbol->function = rest;
        /* Mangled names of Swift are given as such. */
        if (rest[0] == '$')
            symbol->mangled = rest;
        rest = next;
    }
    c->thread.n_frames++;
}

static inline void
case_add_all(struct group_case *c, const char *const *frames)
{
    for (size_t i = 0; frames && frames[i]; i++)
        case_add(c, frames[i]);
}

/* The key under rules, NULL = the built-in ones. */
static inline void
case_group(struct group_case *c, const char *rules_text, struct group_result *ret)
{
    struct group_rules rules;
    struct fz_error err;
    if (group_rules_parse(fz_span_cstr(rules_text), &c->arena, &rules, &err) != FZ_OK)
        fail_msg("%s", err.text);
    if (group_report(&c->report, &rules, &c->arena, ret, &err) != FZ_OK)
        fail_msg("%s", err.text);
}

static inline void
case_deinit(struct group_case *c)
{
    fz_arena_deinit(&c->arena);
}

#endif
