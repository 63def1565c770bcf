/* Texts and JSON of reports under every rule: the first byte says which, and whether it is JSON. */
#include <stdlib.h>

#include "server/scrub/scrub.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const rules_texts[] = {NULL, "text:abc*d*\nkey:*x*\nkeep:y*",
                                              "on:user_id\noff:email"};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make((size_t)64 << 20);
    struct scrub_rules rules;
    if (size == 0)
        return 0;
    const char *text = fz_arena_text(&arena, fz_span_make(data + 1, size - 1));
    if (!text || scrub_rules_parse(rules_texts[data[0] % 3], &arena, &rules, NULL) != FZ_OK)
        abort();
    struct scrub scrub = scrub_make(&rules, &arena);
    const char *once = data[0] & 4 ? scrub_json(&scrub, text, (enum scrub_top)(data[0] >> 3 & 1))
                                   : scrub_text(&scrub, text);
    if (!once && !scrub.failed)
        abort();
    struct scrub_rules parsed;
    fz_ignore(scrub_rules_parse(text, &arena, &parsed, NULL)); /* any verdict; it must not crash */
    return 0;
}
