/*
 * The images of a report in text: those that it lists, one on a line, and those that only frames
 * name.
 *
 *   0x104000000 - 0x10400bfff Demo arm64  <4c4c445b55553144a12988beb9d5eb60> /private/.../Demo
 *   0x104000000 -        0x10400bfff +com.example.demo (1.2 - 34) <4C4C445B-...> /Applications/...
 *   0x104000000 -        0x10400bfff +Demo x86_64 (1.2 - 34) <4c4c...> /Applications/...
 *   [  0] 4C4C445B-5555-3144-A129-88BEB9D5EB60 0x0000000104000000 /private/.../Demo     lldb
 *   Demo 0x104000000 4c4c445b-5555-3144-a129-88beb9d5eb60            lists of apps, any order
 */
#include "server/ingest/text/text.h"

#include "base/arch/arch.h"
#include "base/text.h"

static bool
is_arch(struct fz_span word)
{
    return fz_arch_is_name(word) || fz_span_is(word, "unknown") ||
           fz_span_is(word, "arm-unknown") || fz_span_is(word, "arm64-unknown") ||
           fz_span_is(word, "unknown-arch");
}

/* The start of the last word of the text. */
static size_t
last_word(struct fz_span text)
{
    size_t start = text.len;
    while (start > 0 && !fz_text_is_blank(text.data[start - 1]))
        start--;
    return start;
}

/* Between the addresses and the UUID: "+com.example.demo 1.2 (34)", "Demo arm64 ",
 * "Demo x86_64 (1.2 - 34)". */
static void
read_name(struct ingest_builder *b, struct fz_span text, struct report_image *ret)
{
    struct fz_span version = {NULL, 0};
    text = fz_text_trim(text);
    if (fz_span_begins(text, "+"))
        text = fz_text_trim(fz_span_from(text, 1));
    size_t open = ingest_text_last_group(text);
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
            ret->arch = ingest_text(b, arch);
        text = fz_text_trim(fz_span_until(text, start));
    } else if (start > 0 && fz_span_is(fz_span_from(text, start), "???")) {
        text = fz_text_trim(fz_span_until(text, start));
    }
    if (!fz_span_is(text, "???"))
        ret->name = ingest_text(b, text);
    if (version.len && !fz_span_is(version, "*") && !fz_span_is(version, "???") &&
        !fz_span_is(version, "??? - ???"))
        ret->version = ingest_text(b, version);
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
        /* Names of binaries have dots too (libobjc.A.dylib), but then they are the path's end. */
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
        /* A short word in angle brackets belongs to the name; a long one is the hash of an old
         * binary. */
        if (!image->has_uuid && inside.len < 30 && inside.len > 0)
            continue;
        *ret_open = i;
        *ret_end = end + 1;
        return true;
    }
    return false;
}

/* "<start> - <end> ...", the end inclusive. False if it is not such a line; `ret->name` may be
 * NULL. */
static bool
parse_range(struct ingest_builder *b, struct fz_span line, struct report_image *ret)
{
    struct report_image image = {.addr = 0};
    uint64_t end = 0;
    struct fz_span rest = fz_text_trim(line);
    if (fz_span_begins(rest, "*")) /* an image of the kernel */
        rest = fz_text_trim(fz_span_from(rest, 1));
    /* Each line of the part is tried: lists end without a mark. */
    if (!ingest_text_cut_hex(&rest, &image.addr))
        return false;
    rest = fz_text_trim(rest);
    if (!fz_span_begins(rest, "-"))
        return false;
    rest = fz_text_trim(fz_span_from(rest, 1));
    bool has_end = ingest_text_cut_hex(&rest, &end);
    /* Reporters that do not know the size write "???". */
    if (!has_end && !fz_span_begins(rest, "???"))
        return false;
    if (!has_end)
        rest = fz_span_from(rest, 3);
    /* The end is inclusive. */
    if (has_end && end >= image.addr && end - image.addr < UINT64_MAX)
        image.size = end - image.addr + 1;
    size_t open, after;
    rest = fz_text_trim(rest);
    if (find_uuid(rest, &open, &after, &image)) {
        read_name(b, fz_span_until(rest, open), &image);
        image.path = ingest_text(b, fz_text_trim(fz_span_from(rest, after)));
    } else {
        size_t path = fz_text_find(rest, " /");
        read_name(b, fz_span_until(rest, path == SIZE_MAX ? rest.len : path), &image);
        if (path != SIZE_MAX)
            image.path = ingest_text(b, fz_text_trim(fz_span_from(rest, path)));
    }
    if (image.has_uuid && fz_uuid_is_nil(&image.uuid))
        image.has_uuid = false;
    if (image.path && strcmp(image.path, "???") == 0)
        image.path = NULL;
    settle_name(&image);
    *ret = image;
    return true;
}

/* Some texts end their list with an entry for "no image". */
static bool
is_nothing(const struct report_image *image)
{
    return !image->has_uuid && !image->name && !image->path &&
           (image->addr == 0 || image->size == 0);
}

/* Is the word a UUID, and not an address? */
static bool
is_uuid(struct fz_span word, struct fz_uuid *ret)
{
    return word.len >= 32 && word.len <= 46 && fz_uuid_parse(word, ret);
}

/* The free dialects: a UUID, one address and a name or path, in any order. */
static bool
parse_free(struct ingest_builder *b, struct fz_span line, struct report_image *ret)
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
        /* A path extends to the end of the line, with its spaces. */
        if (image.has_uuid && has_addr && (!name.len || fz_span_begins(word, "/"))) {
            name = before;
            break;
        }
        /* Lists that apps print separate with commas or colons. */
        while (word.len && (word.data[word.len - 1] == ',' || word.data[word.len - 1] == ':'))
            word = number = fz_span_until(word, word.len - 1);
        if (!image.has_uuid && is_uuid(word, &image.uuid)) {
            image.has_uuid = closed = true;
        } else if (!has_addr && ingest_text_cut_hex(&number, &addr) && !number.len) {
            has_addr = closed = true;
            image.addr = addr;
        } else if (word.len && !image.arch && name.len && is_arch(word)) {
            image.arch = ingest_text(b, word);
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
        image.path = ingest_text(b, name);
    else
        image.name = ingest_text(b, name);
    settle_name(&image);
    *ret = image;
    return true;
}

bool
ingest_text_read_image(struct ingest_text *c, struct fz_span line)
{
    struct report_image image;
    if (!parse_range(c->b, line, &image))
        return false;
    /* The line is understood, and not to be kept among the odd ones. */
    if (is_nothing(&image))
        return true;
    (void)ingest_add_image(c->b, &image);
    return true;
}

bool
ingest_text_read_free_image(struct ingest_text *c, struct fz_span line)
{
    struct report_image image;
    if (!parse_free(c->b, line, &image) || (!image.name && !image.path))
        return false;
    (void)ingest_add_image(c->b, &image);
    return true;
}

/* "...rameworkWithALongName": Apple's text cuts names of more than 30 characters in frames. */
static bool
is_cut_name(struct fz_span cut, const char *name)
{
    struct fz_span all = fz_span_cstr(name), tail;
    if (!fz_span_begins(cut, "...") || all.len < cut.len)
        return false;
    tail = fz_span_from(cut, 3);
    return tail.len && fz_span_equal(fz_span_from(all, all.len - tail.len), tail);
}

static bool
is_listed(const struct report *r, size_t n, const struct ingest_text_hint *hint)
{
    for (size_t i = 0; i < n && hint->has_load; i++) {
        /* Inside counts too: the load address of a frame can be that of a segment. */
        uint64_t addr = r->images[i].addr;
        if (addr <= hint->load && (addr == hint->load || hint->load - addr < r->images[i].size))
            return true;
    }
    for (size_t i = 0; i < n && hint->name.len && !hint->has_load; i++) {
        if (fz_span_is(hint->name, r->images[i].name ? r->images[i].name : "") ||
            fz_span_is(hint->name, r->images[i].bundle_id ? r->images[i].bundle_id : "") ||
            is_cut_name(hint->name, r->images[i].name))
            return true;
    }
    return false;
}

static void
number_frames(struct report_frame *frames, size_t n, const int *numbers)
{
    for (size_t i = 0; i < n; i++) {
        if (frames[i].image >= 0)
            frames[i].image = numbers[frames[i].image];
    }
}

/* Add the images that the lists lack, and replace the frames' numbers of hints by those of
 * images. */
static void
settle_hints(struct ingest_builder *b, const struct ingest_text_hints *hints)
{
    struct report *r = b->report;
    size_t n_listed = r->n_images;
    int *numbers = ingest_alloc(b, hints->n, sizeof(*numbers));
    for (size_t i = 0; i < hints->n && !b->failed; i++) {
        const struct ingest_text_hint *hint = &hints->items[i];
        /* Without a load address it has a name only, and contains no address. */
        struct report_image image = {.addr = hint->has_load ? hint->load : 0};
        numbers[i] = -1; /* listed: the frame's address leads to it */
        if (is_listed(r, n_listed, hint))
            continue;
        image.name = ingest_text(b, hint->name);
        numbers[i] = ingest_add_image(b, &image);
    }
    if (b->failed)
        return;
    for (size_t i = 0; i < r->n_threads; i++)
        number_frames(r->threads[i].frames, r->threads[i].n_frames, numbers);
    number_frames(r->exception_frames, r->n_exception_frames, numbers);
    if (r->n_images > n_listed)
        ingest_note(b, "images known from frames only, without a UUID: %zu",
                    r->n_images - n_listed);
}

void
ingest_text_settle_images(struct ingest_text *c)
{
    const struct report *r = c->b->report;
    size_t n_without = 0;
    /* Lines come one by one, so that the number of images is known only here. */
    ingest_note_cut(c->b);
    for (size_t i = 0; i < r->n_images; i++)
        n_without += !r->images[i].has_uuid;
    /* Without a UUID no symbol file can be found: users ask why names are missing. */
    if (n_without)
        ingest_note(c->b, "images: %zu of %zu have no UUID", n_without, r->n_images);
    settle_hints(c->b, &c->hints);
}
