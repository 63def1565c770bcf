#include "symbolicator/unwind/x86_insn.h"

enum { LENGTH_MAX = 15 };

/* What follows an opcode. */
enum shape {
    NONE = 0,
    MODRM = 1,
    IMM8 = 2,
    IMM16 = 4,
    IMMZ = 8, /* 2 or 4 bytes, by the operand size */
    REL = 16, /* 4 bytes in 64-bit code, else by the operand size */
    FAR = 32, /* a segment after the address */
};

static unsigned
shape_of_arithmetic(uint8_t opcode)
{
    unsigned low = opcode & 7;
    return low < 4 ? MODRM : low == 4 ? IMM8 : low == 5 ? IMMZ : NONE;
}

/* Of the opcodes from 80 on. A0 to A3 hold an address, which read_immediate() handles. */
/* clang-format off */
static const uint8_t shapes[] = {
    /* 80 */ MODRM | IMM8, MODRM | IMMZ, MODRM | IMM8, MODRM | IMM8, MODRM, MODRM, MODRM, MODRM,
    /* 88 */ MODRM, MODRM, MODRM, MODRM, MODRM, MODRM, MODRM, MODRM,
    /* 90 */ NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    /* 98 */ NONE, NONE, FAR, NONE, NONE, NONE, NONE, NONE,
    /* a0 */ NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    /* a8 */ IMM8, IMMZ, NONE, NONE, NONE, NONE, NONE, NONE,
    /* b0 */ IMM8, IMM8, IMM8, IMM8, IMM8, IMM8, IMM8, IMM8,
    /* b8 */ IMMZ, IMMZ, IMMZ, IMMZ, IMMZ, IMMZ, IMMZ, IMMZ,
    /* c0 */ MODRM | IMM8, MODRM | IMM8, IMM16, NONE, MODRM, MODRM, MODRM | IMM8, MODRM | IMMZ,
    /* c8 */ IMM16 | IMM8, NONE, IMM16, NONE, NONE, IMM8, NONE, NONE,
    /* d0 */ MODRM, MODRM, MODRM, MODRM, IMM8, IMM8, NONE, NONE,
    /* d8 */ MODRM, MODRM, MODRM, MODRM, MODRM, MODRM, MODRM, MODRM,
    /* e0 */ IMM8, IMM8, IMM8, IMM8, IMM8, IMM8, IMM8, IMM8,
    /* e8 */ REL, REL, FAR, IMM8, NONE, NONE, NONE, NONE,
    /* f0 */ NONE, NONE, NONE, NONE, NONE, NONE, MODRM, MODRM,
    /* f8 */ NONE, NONE, NONE, NONE, NONE, NONE, MODRM, MODRM,
};
/* clang-format on */

static unsigned
shape_of_one(uint8_t opcode)
{
    if (opcode < 0x40)
        return shape_of_arithmetic(opcode);
    if (opcode >= 0x80)
        return shapes[opcode - 0x80];
    if (opcode >= 0x70)
        return IMM8;
    switch (opcode) {
    case 0x62:
    case 0x63:
        return MODRM;
    case 0x68:
        return IMMZ;
    case 0x69:
        return MODRM | IMMZ;
    case 0x6a:
        return IMM8;
    case 0x6b:
        return MODRM | IMM8;
    default:
        return NONE;
    }
}

static unsigned
shape_of_0f(uint8_t opcode)
{
    if (opcode >= 0x80 && opcode <= 0x8f)
        return REL;
    if ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xa4 || opcode == 0xac || opcode == 0xba ||
        opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6) || opcode == 0x0f)
        return MODRM | IMM8;
    if ((opcode >= 0x05 && opcode <= 0x0c) || opcode == 0x0e ||
        (opcode >= 0x30 && opcode <= 0x37) || opcode == 0x77 ||
        (opcode >= 0xa0 && opcode <= 0xa2) || (opcode >= 0xa8 && opcode <= 0xaa) ||
        (opcode >= 0xc8 && opcode <= 0xcf))
        return NONE;
    return MODRM;
}

struct decoder {
    struct fz_reader r;
    struct unwind_x86_insn *insn;
    bool is_64;
};

/* The prefixes of old, and REX; gives the first byte after them. */
static uint8_t
read_prefixes(struct decoder *d)
{
    struct unwind_x86_insn *insn = d->insn;
    for (unsigned i = 0; i < LENGTH_MAX; i++) {
        uint8_t byte = fz_read_u8(&d->r);
        if (byte == 0x66)
            insn->has_operand_16 = true;
        else if (byte == 0x67)
            insn->has_address_prefix = true;
        else if (d->is_64 && (byte & 0xf0) == 0x40)
            insn->rex = byte;
        else if (byte != 0xf0 && byte != 0xf2 && byte != 0xf3 && byte != 0x26 && byte != 0x2e &&
                 byte != 0x36 && byte != 0x3e && byte != 0x64 && byte != 0x65)
            return byte;
        /* A REX counts only directly before the opcode. */
        if (!(d->is_64 && (byte & 0xf0) == 0x40))
            insn->rex = 0;
    }
    d->r.failed = true;
    return 0;
}

/* In 32-bit code the same bytes are LES, LDS and BOUND, whose operand is in memory. */
static bool
is_vex(struct decoder *d, uint8_t byte)
{
    if (byte != 0xc4 && byte != 0xc5 && byte != 0x62)
        return false;
    return d->is_64 || (d->r.pos < d->r.len && d->r.data[d->r.pos] >= 0xc0);
}

static void
read_vex(struct decoder *d, uint8_t first)
{
    struct unwind_x86_insn *insn = d->insn;
    uint8_t payload = fz_read_u8(&d->r);
    unsigned map = 1;
    insn->is_vex = true;
    /* The bits that REX has are inverted here. */
    insn->rex = (uint8_t)(~payload >> 5 & 4);
    if (first != 0xc5) {
        insn->rex = (uint8_t)(~payload >> 5 & 7);
        map = payload & (first == 0x62 ? 7 : 31);
        insn->is_wide = fz_read_u8(&d->r) >> 7;
    }
    if (first == 0x62)
        fz_read_skip(&d->r, 1);
    insn->opcode = fz_read_u8(&d->r);
    insn->map = map == 2 ? UNWIND_X86_0F38 : map == 3 ? UNWIND_X86_0F3A : UNWIND_X86_0F;
}

static void
read_modrm_16(struct decoder *d)
{
    struct unwind_x86_insn *insn = d->insn;
    if (insn->mod == 1)
        insn->displacement = (int8_t)fz_read_u8(&d->r);
    else if (insn->mod == 2 || (insn->mod == 0 && insn->rm == 6))
        insn->displacement = (int16_t)fz_read_u16(&d->r);
}

static void
read_modrm(struct decoder *d)
{
    struct unwind_x86_insn *insn = d->insn;
    uint8_t byte = fz_read_u8(&d->r);
    insn->has_modrm = true;
    insn->mod = byte >> 6;
    insn->reg = (uint8_t)((byte >> 3 & 7) | (insn->rex & 4) << 1);
    insn->rm = (uint8_t)((byte & 7) | (insn->rex & 1) << 3);
    if (insn->mod == 3)
        return;
    if (!d->is_64 && insn->has_address_prefix) {
        read_modrm_16(d);
        return;
    }
    unsigned base = byte & 7;
    if (base == 4) {
        uint8_t sib = fz_read_u8(&d->r);
        base = sib & 7;
        insn->has_sib = true;
        insn->base = (uint8_t)((sib & 7) | (insn->rex & 1) << 3);
        insn->index = (uint8_t)((sib >> 3 & 7) | (insn->rex & 2) << 2);
    }
    if (insn->mod == 1)
        insn->displacement = (int8_t)fz_read_u8(&d->r);
    else if (insn->mod == 2 || base == 5)
        insn->displacement = (int32_t)fz_read_u32(&d->r);
}

static int64_t
read_signed(struct fz_reader *r, unsigned size)
{
    uint64_t value = fz_read_uint(r, size), sign = UINT64_C(1) << (8 * size - 1);
    return (int64_t)((value ^ sign) - sign);
}

static void
read_immediate(struct decoder *d, unsigned shape)
{
    struct unwind_x86_insn *insn = d->insn;
    bool is_one = insn->map == UNWIND_X86_ONE, is_short = insn->has_operand_16 && !insn->is_wide;
    uint8_t opcode = insn->opcode;
    /* TEST is the only one of its group with a number. */
    if (is_one && (opcode & 0xfe) == 0xf6 && (insn->reg & 7) < 2)
        shape |= opcode == 0xf6 ? IMM8 : IMMZ;
    unsigned size = 0;
    if (shape & IMM16)
        fz_read_skip(&d->r, 2);
    if (shape & IMM8)
        size = 1;
    else if (shape & IMMZ)
        size = is_short ? 2 : 4;
    else if (shape & (REL | FAR))
        size = is_short && !d->is_64 ? 2 : 4;
    if (is_one && opcode >= 0xb8 && opcode <= 0xbf && insn->is_wide)
        size = 8;
    if (is_one && opcode >= 0xa0 && opcode <= 0xa3)
        size = d->is_64 ? (insn->has_address_prefix ? 4 : 8) : insn->has_address_prefix ? 2 : 4;
    if (size > 0)
        insn->immediate = read_signed(&d->r, size);
    insn->immediate_size = size;
    if (shape & FAR)
        fz_read_skip(&d->r, 2);
}

bool
unwind_x86_decode(struct fz_span code, uint64_t at, bool is_64, struct unwind_x86_insn *ret)
{
    struct unwind_x86_insn insn = {.len = 0};
    struct decoder d = {.r = fz_reader_make(code, "code"), .insn = &insn, .is_64 = is_64};
    fz_read_seek(&d.r, at);
    uint8_t byte = read_prefixes(&d);
    if (is_vex(&d, byte)) {
        read_vex(&d, byte);
    } else {
        insn.is_wide = insn.rex & 8;
        insn.opcode = byte;
        if (byte == 0x0f) {
            insn.opcode = fz_read_u8(&d.r);
            insn.map = UNWIND_X86_0F;
            if (insn.opcode == 0x38 || insn.opcode == 0x3a) {
                insn.map = insn.opcode == 0x38 ? UNWIND_X86_0F38 : UNWIND_X86_0F3A;
                insn.opcode = fz_read_u8(&d.r);
            }
        }
    }
    unsigned shape = insn.map == UNWIND_X86_ONE    ? shape_of_one(insn.opcode)
                     : insn.map == UNWIND_X86_0F   ? shape_of_0f(insn.opcode)
                     : insn.map == UNWIND_X86_0F3A ? MODRM | IMM8
                                                   : MODRM;
    if (shape & MODRM)
        read_modrm(&d);
    read_immediate(&d, shape);
    if (d.r.failed || d.r.pos - at > LENGTH_MAX)
        return false;
    insn.len = (unsigned)(d.r.pos - at);
    *ret = insn;
    return true;
}
