/* Names go into any text without leaving its bounds; what is kept holds at least the text's bytes
 * that are not of frames. */
#include <stdlib.h>

#include "server/report/annotate.h"

static struct report_symbol names[] = {
    {.function = "inner", .file = "a.c", .line = 2, .inlined = true, .source = "dwarf"},
    {.function = "outer", .file = "a.c", .line = 5, .has_offset = true, .source = "dwarf"}};
static struct report_frame frames[] = {
    {.addr = 0x1010,
     .has_image_offset = true,
     .image_offset = 16,
     .symbols = names,
     .n_symbols = 2},
    {.addr = 0x1020, .has_image_offset = true, .image_offset = 32},
    {.addr = 0x1010,
     .has_image_offset = true,
     .image_offset = 16,
     .symbols = names,
     .n_symbols = 2}};
static struct report_thread threads[] = {{.index = 0, .frames = frames, .n_frames = 3},
                                         {.index = 1, .frames = frames, .n_frames = 1}};
static struct report_image images[] = {{.name = "Shop", .addr = 0x1000, .size = 0x1000}};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {"crash", "text", "ips"};
    static const struct report_envelope envelope = {.id = NULL};
    for (size_t i = 0; i < 3; i++) {
        struct report report = {.format = formats[i],
                                .threads = threads,
                                .n_threads = 2,
                                .exception_frames = frames,
                                .n_exception_frames = 3,
                                .images = images,
                                .n_images = 1};
        for (int form = REPORT_FORM_CRASH; form <= REPORT_FORM_IPS; form++) {
            struct fz_buffer out;
            bool kept;
            fz_buffer_init(&out, 0);
            if (report_write(&report, &envelope, fz_span_make(data, size), (enum report_form)form,
                             &out, &kept, NULL) != FZ_OK)
                abort();
            if (kept && out.len > (size + 64) * 64) /* a frame has few names, and each is short */
                abort();
            fz_buffer_deinit(&out);
        }
    }
    return 0;
}
