#include "server/scrub/find.h"

/* What may begin, or be the middle of, a pattern. */
enum { AT = 1, PLUS, ASSIGN, SLASH, QUOTE, DASH, DIGIT, LETTER, LINE };

/* clang-format off */
static const uint8_t classes[256] = {
    ['@'] = AT, ['+'] = PLUS, ['='] = ASSIGN, [':'] = ASSIGN, ['/'] = SLASH, ['\''] = QUOTE, [0xe2] = QUOTE, ['-'] = DASH, ['_'] = LINE,
    ['0'] = DIGIT, ['1'] = DIGIT, ['2'] = DIGIT, ['3'] = DIGIT, ['4'] = DIGIT, ['5'] = DIGIT, ['6'] = DIGIT, ['7'] = DIGIT, ['8'] = DIGIT, ['9'] = DIGIT,
    ['A'] = LETTER, ['B'] = LETTER, ['C'] = LETTER, ['D'] = LETTER, ['E'] = LETTER, ['F'] = LETTER, ['G'] = LETTER, ['H'] = LETTER, ['I'] = LETTER,
    ['J'] = LETTER, ['K'] = LETTER, ['L'] = LETTER, ['M'] = LETTER, ['N'] = LETTER, ['O'] = LETTER, ['P'] = LETTER, ['Q'] = LETTER, ['R'] = LETTER,
    ['S'] = LETTER, ['T'] = LETTER, ['U'] = LETTER, ['V'] = LETTER, ['W'] = LETTER, ['X'] = LETTER, ['Y'] = LETTER, ['Z'] = LETTER,
    ['a'] = LETTER, ['b'] = LETTER, ['c'] = LETTER, ['d'] = LETTER, ['e'] = LETTER, ['f'] = LETTER, ['g'] = LETTER, ['h'] = LETTER, ['i'] = LETTER,
    ['j'] = LETTER, ['k'] = LETTER, ['l'] = LETTER, ['m'] = LETTER, ['n'] = LETTER, ['o'] = LETTER, ['p'] = LETTER, ['q'] = LETTER, ['r'] = LETTER,
    ['s'] = LETTER, ['t'] = LETTER, ['u'] = LETTER, ['v'] = LETTER, ['w'] = LETTER, ['x'] = LETTER, ['y'] = LETTER, ['z'] = LETTER,
};
/* clang-format on */

struct scrub_find
scrub_find_start(struct fz_span text, unsigned kinds)
{
    return (struct scrub_find){.text = text, .kinds = kinds};
}

/* What comes in the middle of words or between them. */
static bool
match_sign(const struct scrub_find *f, size_t at, int class, struct scrub_match *ret)
{
    switch (class) {
    case AT:
        return scrub_find_email(f, at, ret);
    case PLUS:
        return scrub_find_phone(f, at, ret);
    case ASSIGN:
        return scrub_find_assigned(f, at, ret);
    case SLASH:
        return !f->is_value && scrub_find_path(f, at, ret);
    case QUOTE:
    case DASH:
        return !f->is_value && scrub_find_device(f, at, ret);
    default:
        return false;
    }
}

/* Is there "AB12"? Nearly every word ends here. */
static bool
may_be_iban(struct fz_span text, size_t at)
{
    return text.len - at > 4 && scrub_is_letter(text.data[at + 1]) &&
           (scrub_is_digit(text.data[at + 2]) || text.data[at + 2] == ' ');
}

static bool
match(struct scrub_find *f, size_t at, struct scrub_match *ret)
{
    struct fz_span text = f->text;
    uint8_t c = text.data[at];
    int class = classes[c];
    if (class < DIGIT && match_sign(f, at, class, ret))
        return true;
    if (at >= f->run_end && scrub_is_base64(c) && scrub_find_run(f, at, ret))
        return true;
    if (class == DIGIT)
        return at >= f->digits_end && scrub_find_card(f, at, ret);
    bool begins =
        at == 0 || (!scrub_is_letter(text.data[at - 1]) && !scrub_is_digit(text.data[at - 1]));
    if (!begins || (class != LETTER && class != DASH))
        return false;
    return scrub_find_known(f, at, ret) ||
           (class == LETTER && may_be_iban(text, at) && scrub_find_iban(f, at, ret));
}

bool
scrub_find_next(struct scrub_find *f, struct scrub_match *ret)
{
    for (; f->pos < f->text.len; f->pos++) {
        uint8_t c = f->text.data[f->pos];
        f->is_quoted = f->is_quoted || (f->is_value && c == '"');
        /* Most begin nothing, or are in the middle of a word. */
        if (classes[c] == 0 || (classes[c] == LETTER && f->pos < f->run_end && f->pos > 0 &&
                                classes[f->text.data[f->pos - 1]] == LETTER))
            continue;
        if (!match(f, f->pos, ret) || !(f->kinds & (1u << ret->kind)) || ret->end <= f->floor)
            continue;
        if (ret->start < f->floor)
            ret->start = f->floor;
        f->floor = f->pos = ret->end;
        return true;
    }
    return false;
}

bool
scrub_find_in_value(struct fz_span text)
{
    struct scrub_find f = {.text = text, .is_value = true, .kinds = (1u << SCRUB_KINDS) - 1};
    struct scrub_match match;
    return scrub_find_next(&f, &match);
}
