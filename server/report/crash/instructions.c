/*
 * The bytes at the pc, as an .ips of macOS has them:
 *
 *   Thread 0 instruction stream:
 *     55 48 89 e5 ... 0b-0f 1f 80 00 [0f]0b ...  UH.............	<==
 */
#include "server/report/crash/parts.h"

#include <stdio.h>

enum { PER_ROW = 16, TEXT_AT = 51, ROW_BYTES = 67, BYTES_MAX = 4096 };

/* The place `offset` is in brackets, and its row is pointed at if `pointed`. */
static void
put_bytes(struct fz_buffer *out, const json_t *object, bool pointed)
{
    const json_t *bytes = json_object_get(object, "bytes");
    size_t n = json_array_size(bytes);
    json_int_t offset = json_integer_value(json_object_get(object, "offset"));
    for (size_t start = 0; start < n && start < BYTES_MAX; start += PER_ROW) {
        char row[ROW_BYTES + 1];
        memset(row, ' ', ROW_BYTES);
        row[ROW_BYTES] = '\0';
        for (size_t i = 0; i < PER_ROW && start + i < n; i++) {
            static const char digits[] = "0123456789abcdef";
            unsigned byte = (uint8_t)json_integer_value(json_array_get(bytes, start + i));
            row[3 * i + 2] = digits[byte >> 4];
            row[3 * i + 3] = digits[byte & 15];
            row[TEXT_AT + i] = (char)(byte >= 0x20 && byte < 0x7f ? byte : '.');
            /* Apple's text has a hyphen between both halves of a row. */
            if (i == PER_ROW / 2 + 1)
                row[3 * (PER_ROW / 2) + 1] = '-';
            if ((json_int_t)(start + i) == offset) {
                row[3 * i + 1] = '[';
                row[3 * i + 4] = ']';
            }
        }
        bool is_here = offset >= (json_int_t)start && offset < (json_int_t)(start + PER_ROW);
        fz_buffer_printf(out, "%s%s\n", row, pointed && is_here ? "\t<==" : "");
    }
}

void
report_crash_instructions(struct report_crash_out *c, const struct report_thread *thread)
{
    char key[24];
    snprintf(key, sizeof(key), "%lld", (long long)thread->index);
    const json_t *rest = json_object_get(json_object_get(c->extra, "threads"), key);
    const json_t *state = json_object_get(rest, "instructionState");
    const json_t *stream = json_object_get(state, "instructionStream");
    const json_t *line = json_object_get(state, "cacheLine");
    long long index = (long long)report_apple_index(c->r, thread);
    if (!c->is_ips || !c->is_mac || (!stream && !line))
        return;
    fz_buffer_printf(c->out, "Thread %lld instruction stream%s:\n", index,
                     stream ? "" : " (single cacheline)");
    if (stream)
        put_bytes(c->out, stream, true);
    if (stream && line)
        fz_buffer_text(c->out, "  Cacheline:\n");
    if (line)
        put_bytes(c->out, line, false);
}
