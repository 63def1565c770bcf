#include "server/worker/verdict.h"

#include <string.h>

#include "base/attr.h"

/* Problems that decide alone, the worst first. */
static const struct {
    const char *problem;
    struct verdict verdict;
} by_problem[] = {
    {"truncated",
     {"truncated", true,
      "the file was still being written or was cut on its way; wait until the build has finished "
      "with it and upload it again"}},
    {"no_index",
     {"unusable", false,
      "nothing can be read from it; see the problems, and check it with 'dwarfdump --verify' or "
      "'framezero inspect'"}},
    {"not_linked",
     {"not_linked", false,
      "an object file is no image that an app loads; upload the dSYM of the linked product"}},
    {"encrypted",
     {"encrypted", false,
      "a binary from the App Store is encrypted; upload the dSYM or binary of your own archive"}},
    {"hidden_names",
     {"hidden_names", false,
      "its names were hidden by a bitcode build; upload the BCSymbolMaps folder of the .xcarchive, "
      "or the dSYMs that App Store Connect gives"}},
};

static bool
has_problem(const struct proto_slice *slice, const char *kind)
{
    for (size_t i = 0; i < slice->problems.n; i++) {
        if (strcmp(slice->problems.list[i].kind, kind) == 0)
            return true;
    }
    return false;
}

struct verdict
verdict_of(const struct proto_slice *slice)
{
    const struct sym_features *f = &slice->features;
    if (slice->kind == PROTO_SLICE_BCSYMBOLMAP || slice->kind == PROTO_SLICE_UUIDMAP)
        return (struct verdict){"map", false, NULL};
    for (size_t i = 0; i < FZ_ARRAY_LEN(by_problem); i++) {
        if (has_problem(slice, by_problem[i].problem))
            return by_problem[i].verdict;
    }
    if (!f->dwarf && slice->kind == PROTO_SLICE_DSYM)
        return (struct verdict){"no_dwarf", false,
                                "a dSYM without debug information gives no files and lines; set "
                                "DEBUG_INFORMATION_FORMAT to dwarf-with-dsym and build again"};
    if (!f->dwarf)
        return (struct verdict){"symbols_only", false,
                                "a binary gives the names of functions that were not stripped; "
                                "upload its dSYM for files, lines and inlined calls"};
    if (!f->lines)
        return (struct verdict){"no_lines", false,
                                "no line tables; compile with -g or -gline-tables-only"};
    return (struct verdict){"ok", false, NULL};
}
