#include "server/scrub/find.h"

/* What may begin, or be the middle of, a pattern. */
enum { AT = 1, PLUS, ASSIGN, SLASH, QUOTE, DASH, DIGIT, LETTER };

static int
class_of(uint8_t c)
{
    if (scrub_is_letter(c))
        return LETTER;
    if (scrub_is_digit(c))
        return DIGIT;
    switch (c) {
    case '@':
        return AT;
    case '+':
        return PLUS;
    case '=':
    case ':':
        return ASSIGN;
    case '/':
        return SLASH;
    case '\'':
    case 0xe2:
        return QUOTE;
    case '-':
        return DASH;
    default:
        return 0;
    }
}

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
    int class = class_of(c);
    if (class == 0 && c != '_')
        return false;
    if (class && class < DIGIT && match_sign(f, at, class, ret))
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
        f->is_quoted = f->is_quoted || (f->is_value && f->text.data[f->pos] == '"');
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
