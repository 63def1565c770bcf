/* Any body is refused with a reason or becomes a report that can be shown in every form. */
#include "ingest_any.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_ingest_any(fz_span_make(data, size));
    return 0;
}
