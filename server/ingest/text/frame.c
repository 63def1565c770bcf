#include "server/ingest/text/frame.h"

#include "base/text.h"

enum { INDEX_MAX = 1000000, GROUPS_MAX = 4, HINTS_MAX = 512 };

/* Names for the start of the image: the number after it is an offset in the image. */
static bool
is_image_start(struct fz_span name, struct fz_span image)
{
    static const char *const headers[] = {"_mh_execute_header",
                                          "__mh_execute_header",
                                          "_mh_dylib_header",
                                          "__mh_dylib_header",
                                          "_mh_bundle_header",
                                          "__mh_bundle_header",
                                          NULL};
    return ingest_is_one_of(name, headers) || (image.len && fz_span_equal(name, image));
}

static bool
is_no_name(struct fz_span name)
{
    static const char *const words[] = {"???", "<redacted>", "(null)", "<unknown>", NULL};
    uint64_t number;
    struct fz_span rest = name;
    return ingest_is_one_of(name, words) || (ingest_text_cut_hex(&rest, &number) && !rest.len);
}

bool
ingest_text_place_parse(struct fz_span text, struct ingest_text_symbol *ret)
{
    uint64_t numbers[2] = {0, 0};
    size_t n = 0;
    while (n < 2) {
        size_t colon = fz_text_find_last(text, ":");
        struct fz_span digits = colon == SIZE_MAX ? text : fz_span_from(text, colon + 1);
        if (colon == SIZE_MAX || colon == 0 || !digits.len || digits.data[0] == '+' ||
            !ingest_text_cut_decimal(&digits, &numbers[n]) || digits.len)
            break;
        n++;
        text = fz_span_until(text, colon);
    }
    /* A group without a number is a part of a name: "operator()". */
    if (n == 0 || text.len == 0)
        return false;
    uint64_t line = n == 2 ? numbers[1] : numbers[0], column = n == 2 ? numbers[0] : 0;
    ret->file = text;
    ret->line = line <= UINT32_MAX ? (uint32_t)line : 0;
    ret->column = column <= UINT32_MAX ? (uint32_t)column : 0;
    return true;
}

/* The start of the "(...)" that ends the text, if a space precedes it; else SIZE_MAX. */
static size_t
last_group(struct fz_span text)
{
    size_t open = ingest_text_last_group(text);
    return open == SIZE_MAX || open == 0 || fz_text_is_blank(text.data[open - 1]) ? open : SIZE_MAX;
}

/* Cut " + 16" off the end. */
static bool
cut_offset(struct fz_span *text, uint64_t *ret)
{
    /* The last one: C++ names have "operator+". */
    size_t plus = fz_text_find_last(*text, "+");
    if (plus == SIZE_MAX || (plus > 0 && !fz_text_is_blank(text->data[plus - 1])))
        return false;
    /* Decimal in Apple's texts; hex is read as well. */
    struct fz_span number = fz_text_trim(fz_span_from(*text, plus + 1));
    if (!number.len || !fz_text_u64(number, ret))
        return false;
    *text = fz_text_trim(fz_span_until(*text, plus));
    return true;
}

/* Cut "[inlined]", "[opt]", "[async]"... off the end: marks that tools put after a name. */
static bool
cut_mark(struct fz_span *text, struct ingest_text_symbol *ret)
{
    static const char *const marks[] = {"[inlined]", "[opt]", "[artificial]", "[async]"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(marks); i++) {
        if (text->len > strlen(marks[i]) && fz_span_ends(*text, marks[i])) {
            /* Only the first mark changes what the frame is. */
            ret->inlined = ret->inlined || i == 0;
            *text = fz_text_trim(fz_span_until(*text, text->len - strlen(marks[i])));
            return true;
        }
    }
    return false;
}

bool
ingest_text_cut_samples(struct fz_span *text, uint32_t *ret)
{
    size_t open = fz_text_find_last(*text, "[");
    uint64_t number;
    if (open == SIZE_MAX || !fz_span_ends(*text, " samples]"))
        return false;
    struct fz_span inside = fz_span_from(*text, open + 1);
    if (!ingest_text_cut_decimal(&inside, &number) || !fz_span_is(inside, " samples]"))
        return false;
    /* No sampling runs that long: a larger number is damage, and still the most of all. */
    *ret = number <= UINT32_MAX ? (uint32_t)number : UINT32_MAX;
    *text = fz_text_trim(fz_span_until(*text, open));
    return true;
}

/* "name + 8 (in Demo) (work.c:5)"; what follows the name comes in any order. */
static void
read_name(struct fz_span text, struct ingest_text_symbol *ret)
{
    text = fz_text_trim(text);
    /* Each round cuts one part off the end. A name may end in brackets of its own, which stay. */
    for (int i = 0; i < GROUPS_MAX; i++) {
        size_t open = last_group(text);
        struct fz_span inside = open == SIZE_MAX ? (struct fz_span){NULL, 0}
                                                 : fz_span_between(text, open + 1, text.len - 1);
        bool is_known = fz_span_begins(inside, "in ") ||
                        (inside.len && !ret->file.len && ingest_text_place_parse(inside, ret));
        if (is_known)
            text = fz_text_trim(fz_span_until(text, open));
        else if (!ingest_text_cut_samples(&text, &ret->samples) && !cut_mark(&text, ret) &&
                 (ret->has_offset || !(ret->has_offset = cut_offset(&text, &ret->offset))))
            break;
    }
    ret->name = text;
}

struct ingest_text_symbol
ingest_text_symbol_parse(struct fz_span text, struct fz_span image, uint64_t addr)
{
    struct ingest_text_symbol symbol = {.line = 0};
    uint64_t load, offset = 0;
    text = fz_text_trim(text);
    struct fz_span rest = text;
    if (ingest_text_cut_hex(&rest, &load)) {
        struct fz_span after = fz_text_trim(rest);
        bool has_offset = after.len && after.data[0] == '+';
        if (has_offset) {
            after = fz_text_trim(fz_span_from(after, 1));
            has_offset =
                ingest_text_cut_hex(&after, &offset) || ingest_text_cut_decimal(&after, &offset);
        }
        if (has_offset) {
            /* An address in no image is written "0x0 + n". */
            symbol.has_load = load != 0 && offset <= addr && addr - offset == load;
            symbol.load = load;
            symbol.load_offset = offset;
            after = fz_text_trim(after);
            /* KSCrash has both: "0x104000000 + 16488 (work_step + 8)". */
            if (last_group(after) == 0)
                after = fz_span_between(after, 1, after.len - 1);
        }
        text = after;
    }
    (void)ingest_text_cut_samples(&text, &symbol.samples);
    if (text.len == 0)
        return symbol;
    read_name(text, &symbol);
    if (symbol.has_offset && !symbol.has_load && is_image_start(symbol.name, image) &&
        symbol.offset <= addr) {
        symbol.has_load = true;
        /* The offset counts from the header, so this is where the image was loaded. */
        symbol.load = addr - symbol.offset;
        symbol.load_offset = symbol.offset;
        symbol.has_offset = false;
        symbol.name = (struct fz_span){NULL, 0};
    } else if (is_image_start(symbol.name, image) || is_no_name(symbol.name)) {
        symbol.name = (struct fz_span){NULL, 0};
    }
    return symbol;
}

/* The start of the first address in the line, with blanks around it; else SIZE_MAX. */
static size_t
find_address(struct fz_span line, uint64_t *ret_addr, struct fz_span *ret_rest)
{
    for (size_t i = 0; i + 2 < line.len; i++) {
        struct fz_span rest = fz_span_from(line, i);
        /* The image's name may have spaces, so the address is found first and the name is before
         * it. */
        if (rest.data[0] != '0' || (rest.data[1] | 0x20) != 'x' ||
            (i > 0 && !fz_text_is_blank(line.data[i - 1])))
            continue;
        if (ingest_text_cut_hex(&rest, ret_addr) && (!rest.len || fz_text_is_blank(rest.data[0]))) {
            *ret_rest = fz_text_trim(rest);
            return i;
        }
    }
    return SIZE_MAX;
}

bool
ingest_text_frame_parse(struct fz_span line, struct ingest_text_frame *ret)
{
    struct ingest_text_frame frame = {.index = 0};
    struct fz_span rest = line, after;
    line = fz_text_trim(line);
    rest = line;
    frame.has_index = ingest_text_cut_decimal(&rest, &frame.index) && frame.index < INDEX_MAX &&
                      rest.len && fz_text_is_blank(rest.data[0]);
    if (!frame.has_index)
        rest = line;
    rest = fz_text_trim(rest);
    size_t at = find_address(rest, &frame.addr, &after);
    if (at == SIZE_MAX)
        return false;
    frame.image = fz_text_trim(fz_span_until(rest, at));
    /* Apple's mark for an address in no image. */
    if (fz_span_is(frame.image, "???"))
        frame.image = (struct fz_span){NULL, 0};
    frame.symbol = ingest_text_symbol_parse(after, frame.image, frame.addr);
    const struct ingest_text_symbol *symbol = &frame.symbol;
    /* Log lines contain addresses too; without a number only a symbol or an offset makes a
     * frame. */
    if (!frame.has_index && (at == 0 || (!symbol->has_load && !symbol->has_offset)))
        return false;
    *ret = frame;
    return true;
}

/* The number of the hint for this image, made if it is new; -1 without image or room. */
static int
read_hint(struct ingest_builder *b, struct ingest_text_hints *hints,
          const struct ingest_text_frame *frame)
{
    const struct ingest_text_symbol *symbol = &frame->symbol;
    if (!hints || (!symbol->has_load && !frame->image.len))
        return -1;
    /* The frames of a stack mostly repeat the images that came last. */
    for (size_t i = hints->n; i-- > 0;) {
        struct ingest_text_hint *hint = &hints->items[i];
        if (!fz_span_equal(hint->name, frame->image))
            continue;
        if (!symbol->has_load || (hint->has_load && hint->load == symbol->load))
            return (int)i;
        /* The same image: a frame with a symbol in place of the load address came first. */
        if (!hint->has_load) {
            hint->has_load = true;
            hint->load = symbol->load;
            return (int)i;
        }
    }
    /* Texts have some dozens of images; the search for a hint is linear. */
    if (hints->n == HINTS_MAX)
        return -1;
    hints->items = ingest_grow(b, hints->items, hints->n, &hints->room, sizeof(*hints->items));
    if (!hints->items)
        return -1;
    hints->items[hints->n] = (struct ingest_text_hint){
        frame->image, symbol->has_load ? symbol->load : 0, symbol->has_load};
    return (int)hints->n++;
}

static void
read_client(struct ingest_builder *b, struct report_frame *to,
            const struct ingest_text_frame *frame)
{
    const struct ingest_text_symbol *symbol = &frame->symbol;
    if (!symbol->name.len)
        return;
    struct report_symbol client = {.function = ingest_text(b, symbol->name),
                                   .file = ingest_text(b, symbol->file),
                                   .line = symbol->line,
                                   .column = symbol->column,
                                   .inlined = symbol->inlined};
    /* An inlined call's offset counts from the function that contains it. */
    if (!symbol->inlined && symbol->has_offset && symbol->offset <= frame->addr)
        ingest_set_start(to, &client, frame->addr - symbol->offset);
    ingest_add_client_symbol(b, to, &client);
}

/* Does the frame have inlined calls only, so far? */
static bool
is_open(const struct report_frame *frame)
{
    return frame->n_client && frame->client[frame->n_client - 1].inlined;
}

void
ingest_text_stack_add(struct ingest_builder *b, struct ingest_stack *stack,
                      const struct ingest_text_frame *frame, struct ingest_text_hints *hints)
{
    struct report_frame made = {.addr = frame->addr, .image = -1, .samples = frame->symbol.samples};
    struct report_frame *last = stack->n ? &stack->frames[stack->n - 1] : NULL;
    if (last && last->addr == frame->addr && is_open(last)) {
        read_client(b, last, frame);
        return;
    }
    /* A text that begins with frame 3 lacks newer frames: its first address is a return address. */
    if (stack->n == 0)
        stack->has_gap = frame->has_index && frame->index > 0;
    struct report_frame *to = ingest_stack_add(b, stack, &made);
    if (!to)
        return;
    read_client(b, to, frame);
    to->image = read_hint(b, hints, frame);
}

bool
ingest_text_stack_add_list(struct ingest_builder *b, struct ingest_stack *stack,
                           struct fz_span line)
{
    struct fz_span rest = fz_text_trim(line);
    struct ingest_stack before = *stack;
    if (fz_span_begins(rest, "("))
        rest = fz_span_from(rest, 1);
    if (fz_span_ends(rest, ")"))
        rest = fz_span_until(rest, rest.len - 1);
    for (rest = fz_text_trim(rest); rest.len; rest = fz_text_trim(rest)) {
        struct ingest_text_frame frame = {.index = 0};
        bool is_addr = ingest_text_cut_hex(&rest, &frame.addr) &&
                       (!rest.len || fz_text_is_blank(rest.data[0]) || rest.data[0] == ',');
        if (!is_addr) { /* some other line, which only begins with an address */
            *stack = before;
            return false;
        }
        if (fz_span_begins(rest, ","))
            rest = fz_span_from(rest, 1);
        ingest_text_stack_add(b, stack, &frame, NULL);
    }
    return stack->n + stack->n_cut > before.n + before.n_cut;
}
