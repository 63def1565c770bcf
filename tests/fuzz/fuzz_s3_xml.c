/* What an object store answers: any bytes. Each element is within the text that it was found in. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "storage/blob/blob_s3_xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
expect(int good)
{
    if (!good)
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"Contents", "Key", "Error", "a"};
    const struct fz_span xml = fz_span_make(data, size);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct fz_span found;
        size_t pos = 0;
        char text[32];
        for (size_t before = pos; blob_s3_xml_next(xml, names[i], &pos, &found); before = pos) {
            expect(pos > before && pos <= size);
            expect(found.len == 0 || (found.data >= data && found.data + found.len <= data + size));
            bool has_text = blob_s3_xml_text(found, "Key", text, sizeof(text));
            expect(strlen(text) < sizeof(text) && (has_text || text[0] == '\0'));
        }
    }
    return 0;
}
