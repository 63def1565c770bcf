/*
 * debug_meta.images, and images that only frames name.
 *
 *   new  {"type":"macho","debug_id","code_file","image_addr","image_size","image_vmaddr","arch"}
 *   old  {"type":"apple","uuid","name","image_addr","image_size","cpu_type","cpu_subtype"}
 *
 * image_vmaddr is not used: real events have wrong values, and the symbol file contains it.
 */
#include <stdio.h>
#include <string.h>

#include "server/ingest/sentry/sentry.h"

enum { FOREIGN_SHOWN = 64 };

/* Images of other systems (a JavaScript source map, a ProGuard mapping) have no address. */
static bool
is_native(const char *type)
{
    static const char *const foreign[] = {"sourcemap", "proguard", "jvm", "r8",
                                          "wasm",      "debugid",  NULL};
    return !ingest_is_one_of(fz_span_cstr(type), foreign);
}

static void
read_image(struct sentry *s, const json_t *object, const char *where)
{
    static const char *const id_keys[] = {"debug_id", "uuid", "code_id", "id", NULL};
    static const char *const path_keys[] = {"code_file", "name", "debug_file", NULL};
    struct ingest_builder *b = &s->b;
    struct report_image image = {0};
    if (!ingest_json_u64(b, object, where, "image_addr", &image.addr)) {
        ingest_note(b, "%s: no image_addr, left out", where);
        return;
    }
    if (ingest_json_u64(b, object, where, "image_size", &image.size))
        ingest_clip_size(b, &image, where, "image_size");
    /* code_file is the new name of `name`; events from other tools have debug_file only. */
    ingest_set_path(&image, ingest_json_first_text(b, object, where, path_keys));
    /* sentry-cocoa sends none; KSCrash-based events have Mach-O's numbers. */
    image.arch = ingest_json_text(b, object, where, "arch");
    if (!image.arch)
        image.arch = ingest_json_cpu(b, object, where, "cpu_type", "cpu_subtype");
    image.version = ingest_json_dylib_version(b, object, where);
    const char *id = ingest_json_first_text(b, object, where, id_keys);
    ingest_set_uuid(b, &image, id, true, where, "debug_id");
    (void)ingest_add_image(b, &image);
}

/* The model has no place for foreign images: they are kept as they came. */
static void
add_foreign(struct sentry *s, const json_t *list)
{
    json_auto_t *foreign = json_object();
    for (size_t i = 0; foreign && i < json_array_size(list); i++) {
        json_t *image = json_array_get(list, i);
        char key[32];
        snprintf(key, sizeof(key), "%zu", i);
        /* The list is as long as the app's build made it, and extra is stored with each report. */
        if (json_object_size(foreign) < FOREIGN_SHOWN && json_is_object(image) &&
            !is_native(json_string_value(json_object_get(image, "type"))))
            ingest_json_set(&s->b, foreign, key, json_incref(image));
    }
    s->b.failed = s->b.failed || !foreign;
    ingest_add_extra(&s->b, "images", foreign, NULL);
}

void
sentry_read_images(struct sentry *s)
{
    struct ingest_builder *b = &s->b;
    const json_t *meta = ingest_json_member(b, s->root, "", "debug_meta", JSON_OBJECT);
    const json_t *images = ingest_json_member(b, meta, "debug_meta", "images", JSON_ARRAY);
    struct ingest_json_list list =
        ingest_json_list_start(b, images, "debug_meta.images", b->limits->images);
    while (ingest_json_list_next_object(&list)) {
        /* One app can have native code and JavaScript (React Native): both lists are one. */
        if (is_native(json_string_value(json_object_get(list.item, "type"))))
            read_image(s, list.item, list.where);
    }
    /* After the listed ones, so that a frame's image is found among them. */
    s->images = ingest_image_map_make(b, true);
    add_foreign(s, images);
}

void
sentry_add_package(struct sentry *s, uint64_t image_addr, const char *package)
{
    struct report *r = s->b.report;
    struct ingest_image_key key = {.addr = image_addr};
    size_t n = r->n_images;
    /* sentry-cocoa writes 0 for a frame in no image. */
    if (image_addr == 0 || !package)
        return;
    int image = ingest_image_map_add(&s->images, &key);
    if (r->n_images > n)
        ingest_set_path(&r->images[image], ingest_text(&s->b, fz_span_cstr(package)));
}

void
sentry_note_packages(struct sentry *s)
{
    struct ingest_builder *b = &s->b;
    size_t n = b->report->n_images - s->images.n_listed;
    if (b->n_images_cut)
        ingest_note(b, "images that only frames name are left out: the limit is %zu",
                    b->limits->images);
    if (n)
        ingest_note(b, "images that only frames name, missing in debug_meta: %zu", n);
}
