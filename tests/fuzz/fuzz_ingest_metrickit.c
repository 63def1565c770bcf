/* MetricKit payloads: taken apart, and each diagnostic read. */
#include "ingest_any.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_ingest_any(fz_span_make(data, size));
    return 0;
}
