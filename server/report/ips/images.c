/* usedImages of an .ips, in the order and with the placeholders that came. */
#include "server/report/ips/parts.h"

#include <stdio.h>
#include <stdlib.h>

/* What the image at `place` has beside the model; NULL = nothing. */
static const json_t *
rest_of(const struct report_ips *ips, size_t place)
{
    char key[24];
    snprintf(key, sizeof(key), "%zu", place);
    return json_object_get(json_object_get(ips->extra, "usedImages"), key);
}

/* Placeholders alone have a base there. */
static bool
is_placeholder(const struct report_ips *ips, size_t place)
{
    return json_object_get(rest_of(ips, place), "base") != NULL;
}

enum fz_code
report_ips_place_images(struct report_ips *ips, struct fz_error *err)
{
    size_t n = ips->r->n_images, place = 0;
    size_t n_rest = json_object_size(json_object_get(ips->extra, "usedImages"));
    ips->places = calloc(n ? n : 1, sizeof(*ips->places));
    if (!ips->places)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    ips->nowhere = SIZE_MAX;
    /* Images go to the places that no placeholder takes. */
    for (size_t i = 0; i < n || place < n + n_rest; place++) {
        if (!is_placeholder(ips, place)) {
            if (i == n)
                break;
            ips->places[i++] = place;
        } else if (ips->nowhere == SIZE_MAX &&
                   json_integer_value(json_object_get(rest_of(ips, place), "base")) == 0) {
            ips->nowhere = place;
        }
    }
    ips->n_places = place;
    if (ips->nowhere == SIZE_MAX)
        ips->nowhere = place;
    return FZ_OK;
}

static void
write_uuid(struct json_write *w, const struct report_image *image)
{
    char text[FZ_UUID_DASHED];
    fz_uuid_format_dashed(&image->uuid, text);
    json_write_text(w, "uuid", text); /* zeros if it has none, as Apple writes it */
}

/* "4.2 (4201)": version and build. */
static void
write_version(struct json_write *w, const char *version)
{
    char first[128], build[128];
    const char *open = version ? strstr(version, " (") : NULL;
    size_t len = version ? strlen(version) : 0;
    /* Not of the form "4.2 (4201)": all of it is the version. */
    if (!open || version[len - 1] != ')' || (size_t)(open - version) >= sizeof(first)) {
        json_write_text(w, "CFBundleShortVersionString", version);
        return;
    }
    snprintf(first, sizeof(first), "%.*s", (int)(open - version), version);
    snprintf(build, sizeof(build), "%.*s", (int)(version + len - 1 - (open + 2)), open + 2);
    json_write_text(w, "CFBundleShortVersionString", first);
    json_write_text(w, "CFBundleVersion", build);
}

static void
write_image(struct json_write *w, const struct report_image *image, const json_t *rest)
{
    json_write_open(w, NULL, '{');
    /* "P": an image of the process. */
    if (!json_object_get(rest, "source"))
        json_write_text(w, "source", "P");
    json_write_text(w, "arch", image->arch);
    json_write_u64(w, "base", image->addr);
    json_write_u64(w, "size", image->size);
    write_uuid(w, image);
    json_write_text(w, "path", image->path);
    json_write_text(w, "name", image->name);
    json_write_text(w, "CFBundleIdentifier", image->bundle_id);
    write_version(w, image->version);
    report_extra_write(w, rest, NULL);
    json_write_close(w, '}');
}

/* The members that are missing in a placeholder as it came are those of one without a place. */
static void
write_placeholder(struct json_write *w, const json_t *rest)
{
    static const struct report_image nowhere = {.name = NULL};
    json_write_open(w, NULL, '{');
    report_extra_write(w, rest, NULL);
    if (!json_object_get(rest, "source"))
        json_write_text(w, "source", "A");
    if (!json_object_get(rest, "base"))
        json_write_u64(w, "base", 0);
    if (!json_object_get(rest, "size"))
        json_write_u64(w, "size", 0);
    if (!json_object_get(rest, "uuid"))
        write_uuid(w, &nowhere);
    json_write_close(w, '}');
}

void
report_ips_images(struct report_ips *ips)
{
    struct json_write *w = &ips->w;
    json_write_open(w, "usedImages", '[');
    for (size_t place = 0, i = 0; place < ips->n_places; place++) {
        if (i < ips->r->n_images && ips->places[i] == place)
            write_image(w, &ips->r->images[i++], rest_of(ips, place));
        else
            write_placeholder(w, rest_of(ips, place));
    }
    /* Only if a frame points at it and the report brought none. */
    if (ips->outside && ips->nowhere == ips->n_places)
        write_placeholder(w, NULL);
    json_write_close(w, ']');
}
