#include "server/ingest/apple/ips.h"

#include <ctype.h>
#include <stdio.h>

#include "base/json/scan.h"
#include "base/text.h"

/* One element of "frames". */
struct element {
    uint64_t offset;
    int64_t index; /* in usedImages, -1 = not said */
    bool inlined;
};

static bool
read_element(const json_t *value, struct element *ret)
{
    struct element element = {.index = -1};
    uint64_t index;
    if (!json_scan_u64(json_object_get(value, "imageOffset"), &element.offset))
        return false;
    /* Absent in frames of no image: the offset is then all there is. */
    if (json_scan_u64(json_object_get(value, "imageIndex"), &index) && index <= INT32_MAX)
        element.index = (int64_t)index;
    element.inlined = json_is_true(json_object_get(value, "inline"));
    *ret = element;
    return true;
}

/* The frame's address: the image's base plus the offset. A placeholder's offset is the address. */
static void
locate(struct ingest_builder *b, const struct element *element, const char *where,
       const struct ingest_ips_images *images, struct report_frame *frame)
{
    frame->addr = element->offset;
    /* The limit on images can have cut it; the offset still shows where it was. */
    if (element->index < 0 || (size_t)element->index >= images->n) {
        ingest_note(b, "%s: not in usedImages, so its address is not known (offset 0x%llx)", where,
                    (unsigned long long)element->offset);
        return;
    }
    int number = images->numbers[element->index];
    /* A placeholder: its base is 0, so the offset is the address. */
    if (number < 0)
        return;
    uint64_t base = b->report->images[number].addr;
    if (__builtin_add_overflow(base, element->offset, &frame->addr)) {
        ingest_note(b, "%s: its offset leads beyond 2^64", where);
        frame->addr = element->offset;
        return;
    }
    frame->image = number;
    frame->has_image_offset = true;
    frame->image_offset = element->offset;
}

/* A client symbol, and where its function starts. */
static void
add_symbol(struct ingest_builder *b, const struct report_symbol *symbol, struct report_frame *frame)
{
    size_t before = frame->n_client;
    ingest_add_client_symbol(b, frame, symbol);
    /* Without a name the offset has nothing that it counts from. */
    if (frame->n_client == before || !symbol->has_offset || symbol->offset > frame->addr)
        return;
    frame->has_client_start = true;
    frame->client_start = frame->addr - symbol->offset;
}

static void
read_symbol(struct ingest_builder *b, const json_t *value, const char *where,
            const struct element *element, struct report_frame *frame)
{
    struct report_symbol symbol = {.inlined = element->inlined};
    uint64_t number;
    symbol.function = ingest_json_text(b, value, where, "symbol");
    symbol.file = ingest_json_text(b, value, where, "sourceFile");
    symbol.line = ingest_json_u32(b, value, where, "sourceLine");
    /* For an inlined call the number counts from the function that contains it. */
    if (ingest_json_u64(b, value, where, "symbolLocation", &number) && !element->inlined) {
        symbol.has_offset = true;
        symbol.offset = number;
    }
    add_symbol(b, &symbol, frame);
}

/* Does an inlined call belong to the frame of the next element? */
static bool
joins_next(const json_t *list, size_t i, const struct element *element)
{
    struct element next;
    return element->inlined && read_element(json_array_get(list, i + 1), &next) &&
           next.offset == element->offset && next.index == element->index;
}

struct ingest_stack
ingest_ips_read_frames(struct ingest_builder *b, const json_t *list, const char *where,
                       const struct ingest_ips_images *images)
{
    /* Inlined calls are elements of their own but no frames of the model, so the list may be longer
     * than the limit without being cut. */
    size_t n = json_array_size(list), limit = b->limits->frames;
    struct ingest_stack stack = ingest_stack_make(b, NULL, n < limit ? n : limit);
    struct report_frame *open = NULL; /* the frame that inlined calls wait for */
    for (size_t i = 0; i < n && !b->failed; i++) {
        char at[INGEST_WHERE];
        struct element element;
        const json_t *value = json_array_get(list, i);
        snprintf(at, sizeof(at), "%s[%zu]", where, i);
        if (!read_element(value, &element)) {
            ingest_note(b, "%s: no imageOffset, left out", at);
            /* Then the next frame is a caller, even if it is the first one here. */
            stack.has_gap = true;
            continue;
        }
        bool joins = joins_next(list, i, &element);
        /* The last frame within the limit still gets its inlined calls. */
        if (stack.n == limit && !open) {
            /* An inlined call is not a frame of the model, so it does not count as cut. */
            stack.n_cut += !joins;
            continue;
        }
        if (!open) {
            struct report_frame frame = {.image = -1};
            locate(b, &element, at, images, &frame);
            open = ingest_stack_add(b, &stack, &frame);
        }
        if (open)
            read_symbol(b, value, at, &element, open);
        if (!joins)
            open = NULL;
    }
    ingest_limit(b, where, stack.n + stack.n_cut, stack.n);
    return stack;
}

/* "main + 12" or "0x104000000 + 16488": a name with its offset, or none. */
static void
read_line_name(struct ingest_builder *b, const char *name, const char *end,
               struct report_frame *frame)
{
    struct report_symbol symbol = {.has_offset = false};
    const char *plus = NULL;
    for (const char *c = name; c + 3 <= end; c++) {
        /* The last one: names of C++ functions contain " + " as well. */
        if (memcmp(c, " + ", 3) == 0)
            plus = c;
    }
    if (plus && fz_text_u64(fz_span_make(plus + 3, (size_t)(end - plus - 3)), &symbol.offset)) {
        symbol.has_offset = true;
        end = plus;
    }
    if (name == end || fz_text_has_prefix(name, "0x") || b->failed)
        return;
    symbol.function = ingest_text(b, fz_span_make(name, (size_t)(end - name)));
    add_symbol(b, &symbol, frame);
}

/* One line up to `end`: number, image, address, name. */
static bool
read_line(struct ingest_builder *b, const char *line, const char *end, struct report_frame *ret)
{
    const char *c = line;
    while (c < end && isspace((unsigned char)*c))
        c++;
    if (c == end || !isdigit((unsigned char)*c))
        return false;
    /* The image's name may hold spaces: the address is the last word that begins with 0x and has
     * the rest of the line after it. */
    const char *addr = NULL;
    for (; c + 3 < end && !addr; c++) {
        if (memcmp(c, " 0x", 3) == 0 || memcmp(c, "\t0x", 3) == 0)
            addr = c + 1;
    }
    if (!addr)
        return false;
    const char *addr_end = addr + 2;
    while (addr_end < end && isxdigit((unsigned char)*addr_end))
        addr_end++;
    if (!fz_text_u64(fz_span_make(addr, (size_t)(addr_end - addr)), &ret->addr))
        return false;
    while (addr_end < end && *addr_end == ' ')
        addr_end++;
    read_line_name(b, addr_end, end, ret);
    return true;
}

struct ingest_stack
ingest_ips_read_backtrace(struct ingest_builder *b, const char *text)
{
    struct ingest_stack stack = {.n = 0};
    while (*text && stack.n < b->limits->frames && !b->failed) {
        const char *end = text + strcspn(text, "\r\n");
        struct report_frame frame = {.image = -1};
        /* Headings and empty lines between the frames are passed over. */
        if (read_line(b, text, end, &frame))
            ingest_stack_add(b, &stack, &frame);
        text = end + strspn(end, "\r\n");
    }
    return stack;
}
