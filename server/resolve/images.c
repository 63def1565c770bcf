#include "server/resolve/images.h"

#include "server/group/group.h"

enum fz_code
resolve_images_init(struct resolve_images *images, struct report *report, struct fz_arena *arena,
                    struct fz_error *err)
{
    images->report = report;
    images->arena = arena;
    images->list = fz_arena_array(arena, report->n_images, sizeof(*images->list));
    if (!images->list)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < report->n_images; i++)
        /* Only images of frames are asked for; the others keep this state. */
        report->images[i].state = REPORT_IMAGE_UNUSED;
    return FZ_OK;
}

enum fz_code
resolve_images_file(struct resolve_images *r, int number, unsigned rank, struct resolve_file **ret,
                    struct fz_error *err)
{
    struct resolve_image *at = &r->list[number];
    struct report_image *image = &r->report->images[number];
    struct resolve_file *file = &at->files[rank];
    *ret = NULL;
    /* Also a file that could not be used is asked for once per report. */
    if (rank < at->n_asked) {
        *ret = file->found.index ? file : NULL;
        return FZ_OK;
    }
    if (rank == 0)
        image->state = REPORT_IMAGE_MISSING;
    if (at->ended || !image->has_uuid)
        return FZ_OK;
    enum fz_code code = r->find(r->user, image, rank, &file->found, err);
    at->n_asked = rank + 1;
    if (code == FZ_E_NOT_FOUND) {
        at->ended = true;
        return FZ_OK;
    }
    /* One broken symbol file must not lose the names of the others. */
    if (code == FZ_E_MALFORMED || code == FZ_E_UNSUPPORTED) {
        file->found.index = NULL;
        if (image->state == REPORT_IMAGE_MISSING)
            image->state = REPORT_IMAGE_FAILED;
        return FZ_OK;
    }
    if (code != FZ_OK)
        return code;
    struct sym_index_info info;
    sym_index_info(file->found.index, &info);
    file->text_vmaddr = info.text_vmaddr;
    /* A symbol table alone: the report is done again when the dSYM comes. */
    if (image->state != REPORT_IMAGE_FOUND)
        image->wants_better = info.stats.max_dwarf_version == 0;
    image->state = REPORT_IMAGE_FOUND;
    *ret = file;
    return FZ_OK;
}

enum fz_code
resolve_images_symbols(void *user, size_t number, struct sym_process_files *ret,
                       struct fz_error *err)
{
    struct resolve_images *r = user;
    const struct report_image *image = &r->report->images[number];
    struct resolve_file *file = NULL;
    if (!image->has_uuid)
        return fz_fail(err, FZ_E_NOT_FOUND, "no UUID");
    enum fz_code code = resolve_images_file(r, (int)number, 0, &file, err);
    /* Without an index there are no symbol files at all. */
    if (code == FZ_OK && file && r->files)
        code = r->files(r->user, image, ret, err);
    if (file)
        ret->index = file->found.index;
    /* The system's binaries do not come. */
    if (r->wants_binaries && ret->dsym && !ret->binary &&
        group_origin_is_own(group_image_origin(r->report, number)))
        r->report->images[number].wants_better = true;
    /* A file that cannot be had leaves the others. */
    return file ? FZ_OK : code;
}

static bool
has_damage(const struct resolve_image *at)
{
    for (unsigned rank = 0; rank < at->n_asked; rank++) {
        const struct resolve_found *found = &at->files[rank].found;
        if (found->is_damaged || (found->index && sym_index_is_damaged(found->index)))
            return true;
    }
    return false;
}

static void
mark_frames(const struct report *report, struct report_frame *frames, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (frames[i].status == REPORT_FRAME_NO_SYMBOL && frames[i].image >= 0 &&
            report->images[frames[i].image].is_damaged)
            frames[i].status = REPORT_FRAME_MALFORMED_SYMBOL_FILE;
    }
}

void
resolve_images_mark_damaged(struct resolve_images *r)
{
    struct report *report = r->report;
    bool any = false;
    for (size_t i = 0; i < report->n_images; i++) {
        struct report_image *image = &report->images[i];
        image->is_damaged = has_damage(&r->list[i]);
        if (!image->is_damaged)
            continue;
        any = true;
        image->state = REPORT_IMAGE_FAILED;
        report_note(report, r->arena,
                    "image %s: its stored index is damaged or of another version, so names may be "
                    "missing; it is built again from the symbol file",
                    image->name ? image->name : "without a name");
    }
    for (size_t i = 0; any && i < report->n_threads; i++)
        mark_frames(report, report->threads[i].frames, report->threads[i].n_frames);
    if (any)
        mark_frames(report, report->exception_frames, report->n_exception_frames);
}

enum fz_code
resolve_images_list_files(struct resolve_images *r, struct fz_error *err)
{
    for (size_t i = 0; i < r->report->n_images; i++) {
        struct report_image *image = &r->report->images[i];
        struct report_symbol_file *files = NULL;
        size_t n = 0;
        for (unsigned rank = 0; rank < r->list[i].n_asked; rank++) {
            /* A file without a name for any frame does not explain the report. */
            if (!r->list[i].files[rank].named)
                continue;
            if (!files)
                files = fz_arena_array(r->arena, RESOLVE_FILES_MAX, sizeof(*files));
            if (!files)
                return fz_arena_fail(r->arena, err);
            files[n++] = r->list[i].files[rank].found.file;
        }
        image->files = files;
        image->n_files = n;
    }
    return FZ_OK;
}
