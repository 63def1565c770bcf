#include "server/ingest/text/image.h"

#include "base/arch/arch.h"
#include "base/text.h"

static bool
is_arch(struct fz_span word)
{
    return fz_arch_is_name(word) || fz_span_is(word, "unknown") ||
           fz_span_is(word, "arm-unknown") || fz_span_is(word, "arm64-unknown") ||
           fz_span_is(word, "unknown-arch");
}

/* Where the last word of the text begins. */
static size_t
last_word(struct fz_span text)
{
    size_t start = text.len;
    while (start > 0 && !fz_text_is_blank(text.data[start - 1]))
        start--;
    return start;
}

/* Where the "(...)" that ends the text begins; SIZE_MAX if none does. */
static size_t
last_group(struct fz_span text)
{
    size_t depth = 0;
    for (size_t i = fz_span_ends(text, ")") ? text.len : 0; i-- > 0;) {
        if (text.data[i] == ')')
            depth++;
        else if (text.data[i] == '(' && --depth == 0)
            return i;
    }
    return SIZE_MAX;
}

/* "+com.example.demo 1.2 (34)", "Demo arm64 ", "Demo x86_64 (1.2 - 34)": what stands between the
 * addresses and the UUID. */
static void
take_name(struct ingest_builder *b, struct fz_span text, struct report_image *ret)
{
    struct fz_span version = {NULL, 0};
    text = fz_text_trim(text);
    if (fz_span_begins(text, "+"))
        text = fz_text_trim(fz_span_from(text, 1));
    size_t open = last_group(text);
    if (open != SIZE_MAX && open > 0) {
        version = fz_text_trim(fz_span_between(text, open + 1, text.len - 1));
        text = fz_text_trim(fz_span_until(text, open));
        /* "1.2 (34)" */
        size_t start = last_word(text);
        if (start > 0 && start < text.len && text.data[start] >= '0' && text.data[start] <= '9') {
            version = fz_span_make(text.data + start,
                                   (size_t)(version.data - text.data) + version.len + 1 - start);
            text = fz_text_trim(fz_span_until(text, start));
        }
    }
    size_t start = last_word(text);
    if (start > 0 && is_arch(fz_span_from(text, start))) {
        struct fz_span arch = fz_span_from(text, start);
        if (!fz_span_begins(arch, "unknown"))
            ret->arch = ingest_text_copy(b, arch);
        text = fz_text_trim(fz_span_until(text, start));
    } else if (start > 0 && fz_span_is(fz_span_from(text, start), "???")) {
        text = fz_text_trim(fz_span_until(text, start));
    }
    if (!fz_span_is(text, "???"))
        ret->name = ingest_text_copy(b, text);
    if (version.len && !fz_span_is(version, "*") && !fz_span_is(version, "???") &&
        !fz_span_is(version, "??? - ???"))
        ret->version = ingest_text_copy(b, version);
}

/* macOS lists a bundle by its identifier; the binary's own name is the last part of its path. */
static void
settle_name(struct report_image *ret)
{
    if (!ret->path)
        return;
    const char *base = fz_text_base_name(ret->path);
    if (!*base)
        return;
    if (ret->name && strcmp(ret->name, base) != 0 && strchr(ret->name, '.'))
        ret->bundle_id = ret->name;
    if (!ret->name || ret->bundle_id)
        ret->name = base;
}

/* The first "<...>" that holds a UUID, or an old binary's hash. */
static bool
find_uuid(struct fz_span text, size_t *ret_open, size_t *ret_end, struct report_image *image)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] != '<')
            continue;
        size_t end = i;
        while (end < text.len && end - i < 64 && text.data[end] != '>')
            end++;
        if (end == text.len || text.data[end] != '>')
            continue;
        struct fz_span inside = fz_span_between(text, i + 1, end);
        image->has_uuid = fz_uuid_parse(fz_text_trim(inside), &image->uuid);
        if (!image->has_uuid && inside.len < 30 && inside.len > 0)
            continue;
        *ret_open = i;
        *ret_end = end + 1;
        return true;
    }
    return false;
}

bool
ingest_text_image_parse(struct ingest_builder *b, struct fz_span line, struct report_image *ret)
{
    struct report_image image = {.addr = 0};
    uint64_t end = 0;
    struct fz_span rest = fz_text_trim(line);
    if (fz_span_begins(rest, "*")) /* an image of the kernel */
        rest = fz_text_trim(fz_span_from(rest, 1));
    if (!ingest_text_take_hex(&rest, &image.addr))
        return false;
    rest = fz_text_trim(rest);
    if (!fz_span_begins(rest, "-"))
        return false;
    rest = fz_text_trim(fz_span_from(rest, 1));
    bool has_end = ingest_text_take_hex(&rest, &end);
    if (!has_end && !fz_span_begins(rest, "???"))
        return false;
    if (!has_end)
        rest = fz_span_from(rest, 3);
    if (has_end && end >= image.addr && end - image.addr < UINT64_MAX)
        image.size = end - image.addr + 1;
    size_t open, behind;
    rest = fz_text_trim(rest);
    if (find_uuid(rest, &open, &behind, &image)) {
        take_name(b, fz_span_until(rest, open), &image);
        image.path = ingest_text_copy(b, fz_text_trim(fz_span_from(rest, behind)));
    } else {
        size_t path = fz_text_find(rest, " /");
        take_name(b, fz_span_until(rest, path == SIZE_MAX ? rest.len : path), &image);
        if (path != SIZE_MAX)
            image.path = ingest_text_copy(b, fz_text_trim(fz_span_from(rest, path)));
    }
    if (image.has_uuid && fz_uuid_is_nil(&image.uuid))
        image.has_uuid = false;
    if (image.path && strcmp(image.path, "???") == 0)
        image.path = NULL;
    settle_name(&image);
    *ret = image;
    return true;
}

bool
ingest_text_image_is_nothing(const struct report_image *image)
{
    return !image->has_uuid && !image->name && !image->path &&
           (image->addr == 0 || image->size == 0);
}

/* A word that is a UUID and not just a number. */
static bool
is_uuid(struct fz_span word, struct fz_uuid *ret)
{
    return word.len >= 32 && word.len <= 46 && fz_uuid_parse(word, ret);
}

bool
ingest_text_image_parse_free(struct ingest_builder *b, struct fz_span line,
                             struct report_image *ret)
{
    struct report_image image = {.addr = 0};
    struct fz_span rest = fz_text_trim(line), name = {NULL, 0};
    bool has_addr = false, closed = false;
    if (fz_span_begins(rest, "[")) { /* the number of lldb's `image list` */
        size_t close = fz_text_find(rest, "]");
        if (close != SIZE_MAX && close < 8)
            rest = fz_span_from(rest, close + 1);
    }
    while (rest.len) {
        struct fz_span before = fz_text_trim(rest), word = ingest_text_word(&rest), number = word;
        uint64_t addr;
        /* A path goes on to the end, with its spaces. */
        if (image.has_uuid && has_addr && (!name.len || fz_span_begins(word, "/"))) {
            name = before;
            break;
        }
        while (word.len && (word.data[word.len - 1] == ',' || word.data[word.len - 1] == ':'))
            word = number = fz_span_until(word, word.len - 1);
        if (!image.has_uuid && is_uuid(word, &image.uuid)) {
            image.has_uuid = closed = true;
        } else if (!has_addr && ingest_text_take_hex(&number, &addr) && !number.len) {
            has_addr = closed = true;
            image.addr = addr;
        } else if (word.len && !image.arch && name.len && is_arch(word)) {
            image.arch = ingest_text_copy(b, word);
        } else if (word.len && (!name.len || !closed)) {
            name = name.len ? fz_span_make(name.data, (size_t)(word.data - name.data) + word.len)
                            : word;
            closed = false;
        }
    }
    if (!image.has_uuid || !has_addr || image.addr == 0)
        return false;
    if (fz_uuid_is_nil(&image.uuid))
        image.has_uuid = false;
    name = fz_text_trim(name);
    if (fz_span_begins(name, "(0x") && fz_text_contains(name, ") "))
        name = fz_text_trim(
            fz_span_from(name, fz_text_find(name, ") ") + 1)); /* lldb's header address */
    if (fz_text_contains(name, "/"))
        image.path = ingest_text_copy(b, name);
    else
        image.name = ingest_text_copy(b, name);
    settle_name(&image);
    *ret = image;
    return true;
}
