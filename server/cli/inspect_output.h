/*
 * What `framezero inspect` prints of a slice, for people and as JSON.
 */
#ifndef CLI_INSPECT_OUTPUT_H
#define CLI_INSPECT_OUTPUT_H

#include "base/json/write.h"
#include "symbolicator/symbolicator.h"

enum { INSPECT_DIFFERENCES_MAX = 100 }; /* written one by one; the rest is only counted */

struct inspect_result {
    const struct sym_file_slice *slice;
    struct sym_features features;
    struct sym_problems problems; /* of reading, of building the index and of inspecting */
    bool verified;
    struct sym_verify_stats verify;
    struct fz_buffer differences; /* texts, each with a newline at its end */
};

void inspect_output_text(const struct inspect_result *result, bool has_colour,
                         struct fz_buffer *out);
void inspect_output_json(const struct inspect_result *result, struct json_write *out);
void inspect_output_problems(const struct sym_problems *problems, struct json_write *out);

#endif
