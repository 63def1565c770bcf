/* Plain stacks as text. */
#include "ingest_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_ingest_body(fz_span_make(data, size));
    return 0;
}
