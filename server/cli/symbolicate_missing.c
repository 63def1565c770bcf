#include "server/cli/symbolicate_missing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/text.h"
#include "server/config/term.h"

enum { SHOWN = 5, NAME_ROOM = 128 };

struct missing_image {
    struct fz_uuid uuid;
    bool has_uuid, is_missing, is_system;
    char name[NAME_ROOM], arch[16];
    size_t n_reports;
};

void
symbolicate_missing_deinit(struct symbolicate_missing *missing)
{
    free(missing->list);
    *missing = (struct symbolicate_missing){.list = NULL};
}

/* Of the system: its symbols are not the user's to find, so the others come first. */
static bool
is_system(const char *path)
{
    return path && (fz_text_has_prefix(path, "/usr/lib/") || fz_text_has_prefix(path, "/System/") ||
                    strstr(path, ".simruntime/"));
}

static struct missing_image *
find(struct symbolicate_missing *missing, const struct report_image *image, const char *name)
{
    for (size_t i = 0; i < missing->n; i++) {
        struct missing_image *known = &missing->list[i];
        if (known->has_uuid == image->has_uuid &&
            (image->has_uuid ? fz_uuid_equal(&known->uuid, &image->uuid)
                             : strcmp(known->name, name) == 0))
            return known;
    }
    struct missing_image *list =
        fz_list_grow(NULL, missing->list, &missing->room, missing->n + 1, sizeof(*list));
    if (!list)
        return NULL;
    missing->list = list;
    struct missing_image *added = &missing->list[missing->n++];
    *added = (struct missing_image){
        .uuid = image->uuid, .has_uuid = image->has_uuid, .is_system = is_system(image->path)};
    snprintf(added->name, sizeof(added->name), "%s", name);
    snprintf(added->arch, sizeof(added->arch), "%s", image->arch ? image->arch : "");
    return added;
}

static void
describe(const struct missing_image *image, struct fz_buffer *out)
{
    char uuid[FZ_UUID_DASHED] = "without a UUID";
    if (image->has_uuid)
        fz_uuid_format_dashed(&image->uuid, uuid);
    fz_buffer_printf(out, "%s %s%s%s%s", image->name, uuid, *image->arch ? " (" : "", image->arch,
                     *image->arch ? ")" : "");
}

/* Symbol files were given for the image, but no one can be used: report why, once. */
static void
report_reason(struct user_symbols *symbols, const struct report *report, size_t number,
              const struct missing_image *image)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer why = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer what = fz_buffer_make(0);
    describe(image, &what);
    if (report->images[number].state == REPORT_IMAGE_FAILED)
        fz_buffer_text(&why, "the symbols that were given cannot be used; 'framezero inspect' says "
                             "what is wrong with them");
    else
        user_symbols_explain(symbols, report, number, &why);
    if (why.len)
        term_error("symbolicate", "no symbols for %s: %s", fz_buffer_cstr(&what),
                   fz_buffer_cstr(&why));
}

void
symbolicate_missing_add(struct symbolicate_missing *missing, struct user_symbols *symbols,
                        const struct report *report)
{
    for (size_t i = 0; i < report->n_images; i++) {
        const struct report_image *image = &report->images[i];
        /* No frame is in it, so its symbols would change nothing. */
        if (image->state == REPORT_IMAGE_UNUSED)
            continue;
        size_t n = missing->n;
        struct missing_image *known = find(missing, image, image->name ? image->name : "an image");
        /* Only the summary suffers: the reports themselves are complete. */
        if (!known) {
            missing->is_cut = true;
            return;
        }
        known->n_reports++;
        known->is_missing = image->state != REPORT_IMAGE_FOUND;
        if (known->is_missing && missing->n > n)
            report_reason(symbols, report, i, known);
    }
}

static int
compare(const void *a, const void *b)
{
    const struct missing_image *x = a, *y = b;
    if (x->is_missing != y->is_missing)
        return x->is_missing ? -1 : 1;
    if (x->is_system != y->is_system)
        return x->is_system ? 1 : -1;
    if (x->n_reports != y->n_reports)
        return x->n_reports > y->n_reports ? -1 : 1;
    return strcmp(x->name, y->name);
}

void
symbolicate_missing_show(struct symbolicate_missing *missing, struct fz_buffer *out)
{
    size_t n = 0;
    if (missing->n)
        qsort(missing->list, missing->n, sizeof(*missing->list), compare);
    /* compare() has put them at the front. */
    while (n < missing->n && missing->list[n].is_missing)
        n++;
    if (n == 0)
        return;
    fz_buffer_printf(out, "missing symbols for %zu of %zu image%s: ", n, missing->n,
                     missing->n == 1 ? "" : "s");
    for (size_t i = 0; i < n && i < SHOWN; i++) {
        fz_buffer_text(out, i ? ", " : "");
        describe(&missing->list[i], out);
    }
    if (n > SHOWN)
        /* A report of an iPhone has hundreds of images of the system. */
        fz_buffer_printf(out, " and %zu more", n - SHOWN);
    fz_buffer_text(out, "; pass --dsym PATH, or upload them to a server");
}
