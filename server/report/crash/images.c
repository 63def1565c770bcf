/*
 * "Binary Images:" of Apple's crash text.
 *
 *          0x104000000 -        0x10400bfff Demo arm64  <4c4c445b...> /.../Demo              iOS
 *          0x104000000 -        0x10400bfff com.acme.demo (1.2) <4C4C445B-...> /.../Demo     macOS
 */
#include "server/report/crash/parts.h"

#include <stdio.h>
#include <stdlib.h>

static int
compare_images(const void *a, const void *b)
{
    const struct report_image *const *x = a, *const *y = b;
    /* By address, as Apple's tools list them. */
    if ((*x)->addr != (*y)->addr)
        return (*x)->addr < (*y)->addr ? -1 : 1;
    /* qsort() is not stable, and the output must be the same each time. */
    return *x < *y ? -1 : *x > *y;
}

/* The end of an image of unknown size is not made up. */
static void
put_range(struct fz_buffer *out, uint64_t first, uint64_t size)
{
    char start[24], end[24] = "???";
    snprintf(start, sizeof(start), "0x%llx", (unsigned long long)first);
    if (size)
        snprintf(end, sizeof(end), "0x%llx", (unsigned long long)(first + (size - 1)));
    fz_buffer_printf(out, "%18s - %18s ", start, end);
}

/* Without the build: "4.2" of "4.2 (4201)". */
static void
put_version(struct fz_buffer *out, const char *version)
{
    const char *open = version ? strstr(version, " (") : NULL;
    struct fz_span all = fz_span_cstr(version);
    fz_buffer_text(out, " (");
    if (open)
        all.len = (size_t)(open - version);
    if (all.len)
        report_crash_span(out, all);
    else
        fz_buffer_char(out, '*');
    fz_buffer_char(out, ')');
}

static void
put_image(struct report_crash_out *c, const struct report_image *image)
{
    struct fz_buffer *out = c->out;
    char uuid[FZ_UUID_DASHED];
    const char *arch = image->arch ? image->arch : c->r->arch ? c->r->arch : "unknown-arch";
    put_range(out, image->addr, image->size);
    if (c->mac_stacks) {
        fz_uuid_format_dashed(&image->uuid, uuid); /* zeros if it has none, as Apple writes it */
        report_crash_text(out, image->bundle_id ? image->bundle_id
                               : image->name    ? image->name
                                                : "???");
        put_version(out, image->version);
        fz_buffer_printf(out, " <%s>", uuid);
    } else {
        /* iOS: lower case without dashes. */
        fz_uuid_format(&image->uuid, uuid);
        report_crash_text(out, image->name ? image->name : "???");
        fz_buffer_char(out, ' ');
        report_crash_text(out, arch);
        fz_buffer_printf(out, "  <%s>", uuid);
    }
    fz_buffer_char(out, ' ');
    report_crash_text(out, image->path ? image->path : "???");
    fz_buffer_char(out, '\n');
}

/* An .ips has placeholders for addresses in no image, which Apple's tools list like images. */
static void
put_placeholders(struct report_crash_out *c)
{
    const json_t *rest = c->is_ips ? json_object_get(c->extra, "usedImages") : NULL;
    const char *place;
    json_t *image;
    json_object_foreach((json_t *)(uintptr_t)rest, place, image)
    {
        if (!json_object_get(image, "base"))
            continue;
        fz_buffer_printf(c->out, "%18s - 0xffffffffffffffff ", "0x0"); /* base + size - 1 */
        fz_buffer_text(c->out, c->mac_stacks
                                   ? "??? (*) <00000000-0000-0000-0000-000000000000> ???\n"
                                   : "??? unknown-arch  <00000000000000000000000000000000> ???\n");
    }
}

enum fz_code
report_crash_images(struct report_crash_out *c, struct fz_error *err)
{
    const struct report *r = c->r;
    fz_buffer_text(c->out, "\nBinary Images:\n");
    /* Pointers: the order of the report's own list is what frames refer to. */
    const struct report_image **sorted = calloc(r->n_images ? r->n_images : 1, sizeof(*sorted));
    if (!sorted)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < r->n_images; i++)
        sorted[i] = &r->images[i];
    if (!c->is_ips) /* Apple's have their own order */
        qsort(sorted, r->n_images, sizeof(*sorted), compare_images);
    for (size_t i = 0; i < r->n_images; i++) {
        /* Its frames have its name. */
        bool is_name = !sorted[i]->addr && sorted[i]->size <= 1 && !sorted[i]->has_uuid;
        if (!is_name)
            put_image(c, sorted[i]);
    }
    free(sorted);
    put_placeholders(c);
    fz_buffer_char(c->out, '\n');
    return FZ_OK;
}
