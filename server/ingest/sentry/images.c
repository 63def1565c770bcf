/*
 * debug_meta.images, and images that only the frames tell of.
 *
 *   new  {"type":"macho","debug_id","code_file","image_addr","image_size","image_vmaddr","arch"}
 *   old  {"type":"apple","uuid","name","image_addr","image_size","cpu_type","cpu_subtype"}
 *
 * image_vmaddr is not used: real events have it wrong, and the symbol file knows its own.
 */
#include <stdio.h>
#include <string.h>

#include "base/arch/arch.h"
#include "base/text.h"
#include "server/ingest/sentry/sentry.h"

enum { FOREIGN_SHOWN = 64 };

/* Images of other systems (a JavaScript source map, a ProGuard mapping) have no address. */
static bool
is_native(const char *type)
{
    static const char *const foreign[] = {"sourcemap", "proguard", "jvm", "r8", "wasm", "debugid"};
    for (size_t i = 0; type && i < FZ_ARRAY_LEN(foreign); i++) {
        if (strcmp(type, foreign[i]) == 0)
            return false;
    }
    return true;
}

static const char *
first_text(struct ingest_builder *b, const json_t *object, const char *where,
           const char *const *keys)
{
    const char *text = NULL;
    for (; !text && *keys; keys++)
        text = ingest_json_text(b, object, where, *keys);
    return text;
}

/* Dylib versions of KSCrash-based events: 1, 2, 3 -> "1.2.3". */
static const char *
take_version(struct ingest_builder *b, const json_t *object, const char *where)
{
    uint64_t part[3] = {0};
    static const char *const keys[] = {"major_version", "minor_version", "revision_version"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(keys); i++) {
        if (!ingest_json_u64(b, object, where, keys[i], &part[i]))
            part[i] = 0;
    }
    if (part[0] == 0 && part[1] == 0 && part[2] == 0)
        return NULL;
    const char *text = fz_arena_printf(b->arena, "%llu.%llu.%llu", (unsigned long long)part[0],
                                       (unsigned long long)part[1], (unsigned long long)part[2]);
    b->failed = b->failed || !text;
    return text;
}

static bool
take_image(struct sentry *s, const json_t *object, const char *where, struct report_image *ret)
{
    static const char *const id_keys[] = {"debug_id", "uuid", "code_id", "id", NULL};
    static const char *const path_keys[] = {"code_file", "name", "debug_file", NULL};
    struct ingest_builder *b = &s->b;
    struct report_image image = {0};
    if (!ingest_json_u64(b, object, where, "image_addr", &image.addr)) {
        report_note(b->report, b->arena, "%s: no image_addr, left out", where);
        return false;
    }
    if (ingest_json_u64(b, object, where, "image_size", &image.size) &&
        image.size > UINT64_MAX - image.addr) {
        report_note(b->report, b->arena, "%s.image_size: reaches beyond 2^64", where);
        image.size = UINT64_MAX - image.addr;
    }
    image.path = first_text(b, object, where, path_keys);
    image.name = image.path ? fz_text_base_name(image.path) : NULL;
    image.arch = ingest_json_text(b, object, where, "arch");
    uint64_t type = 0, subtype = 0;
    if (!image.arch && ingest_json_u64(b, object, where, "cpu_type", &type)) {
        fz_ignore(ingest_json_u64(b, object, where, "cpu_subtype", &subtype)); /* 0 = all */
        image.arch = fz_arch_known_name((uint32_t)type, (uint32_t)subtype);
    }
    image.version = take_version(b, object, where);
    const char *id = first_text(b, object, where, id_keys);
    image.has_uuid = fz_uuid_parse(fz_span_cstr(id), &image.uuid);
    if (!image.has_uuid)
        report_note(b->report, b->arena, "%s.debug_id: %s", where, id ? "not a UUID" : "missing");
    if (image.has_uuid && fz_uuid_is_nil(&image.uuid))
        image.has_uuid = false;
    *ret = image;
    return true;
}

/* Foreign images have no place in the model: kept as they came. */
static void
keep_foreign(struct sentry *s, const json_t *list)
{
    json_auto_t *foreign = json_object();
    for (size_t i = 0; foreign && i < json_array_size(list); i++) {
        json_t *image = json_array_get(list, i);
        char key[32];
        snprintf(key, sizeof(key), "%zu", i);
        if (json_object_size(foreign) < FOREIGN_SHOWN && json_is_object(image) &&
            !is_native(json_string_value(json_object_get(image, "type"))) &&
            json_object_set(foreign, key, image) != 0)
            s->b.failed = true;
    }
    s->b.failed = s->b.failed || !foreign;
    ingest_add_extra(&s->b, "images", foreign, NULL);
}

/* False if the address was known before, or there is no room to know it. */
static bool
know(struct sentry *s, uint64_t addr)
{
    size_t low = 0, high = s->n_image_addrs;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->image_addrs[middle] < addr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < s->n_image_addrs && s->image_addrs[low] == addr)
        return false;
    if (s->n_image_addrs == s->b.limits->images) {
        s->n_packages_cut++;
        return false;
    }
    memmove(s->image_addrs + low + 1, s->image_addrs + low,
            (s->n_image_addrs - low) * sizeof(*s->image_addrs));
    s->image_addrs[low] = addr;
    s->n_image_addrs++;
    return true;
}

void
sentry_take_images(struct sentry *s)
{
    struct ingest_builder *b = &s->b;
    struct report *r = b->report;
    const json_t *meta = ingest_json_member(b, s->root, "", "debug_meta", JSON_OBJECT);
    const json_t *list = ingest_json_member(b, meta, "debug_meta", "images", JSON_ARRAY);
    size_t max = ingest_limit(b, "debug_meta.images", json_array_size(list), b->limits->images);
    r->images = ingest_alloc(b, max, sizeof(*r->images));
    s->image_addrs = ingest_alloc(b, b->limits->images, sizeof(*s->image_addrs));
    for (size_t i = 0; i < max && !b->failed; i++) {
        char where[INGEST_WHERE];
        const json_t *object = json_array_get(list, i);
        snprintf(where, sizeof(where), "debug_meta.images[%zu]", i);
        if (!json_is_object(object))
            report_note(r, b->arena, "%s: not an object, left out", where);
        else if (is_native(json_string_value(json_object_get(object, "type"))) &&
                 take_image(s, object, where, &r->images[r->n_images]))
            know(s, r->images[r->n_images++].addr);
    }
    keep_foreign(s, list);
}

void
sentry_see_package(struct sentry *s, uint64_t image_addr, const char *package)
{
    struct ingest_builder *b = &s->b;
    if (b->failed || image_addr == 0 || !package || !know(s, image_addr))
        return;
    if (!s->packages)
        s->packages = ingest_alloc(b, b->limits->images, sizeof(*s->packages));
    const char *path = b->failed ? NULL : fz_arena_strdup(b->arena, package);
    b->failed = b->failed || !path;
    if (!b->failed)
        s->packages[s->n_packages++] = (struct report_image){
            .name = fz_text_base_name(path), .path = path, .addr = image_addr};
}

void
sentry_take_packages(struct sentry *s)
{
    struct ingest_builder *b = &s->b;
    struct report *r = b->report;
    if (s->n_packages_cut)
        report_note(r, b->arena, "images that only frames tell of are left out: the limit is %zu",
                    b->limits->images);
    if (s->n_packages == 0 || b->failed)
        return;
    struct report_image *all = ingest_alloc(b, r->n_images + s->n_packages, sizeof(*all));
    if (!all)
        return;
    if (r->n_images)
        memcpy(all, r->images, r->n_images * sizeof(*all));
    memcpy(all + r->n_images, s->packages, s->n_packages * sizeof(*all));
    r->images = all;
    r->n_images += s->n_packages;
    report_note(r, b->arena, "images: %zu are not in debug_meta, only frames tell of them",
                s->n_packages);
}
