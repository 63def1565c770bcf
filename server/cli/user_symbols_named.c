#include "server/cli/user_symbols_named.h"

#include <string.h>

#include "base/arch/arch.h"
#include "base/attr.h"
#include "base/text.h"

struct user_symbols_named
user_symbols_named_find(struct sym_file *const *files, size_t n_files,
                        const struct report_image *image)
{
    struct user_symbols_named named = {.n = 0};
    for (size_t i = 0; image->name && i < n_files; i++) {
        for (size_t k = 0; k < files[i]->n_slices && named.n < USER_SYMBOLS_NAMED_MAX; k++) {
            const struct sym_file_slice *slice = files[i]->slices[k];
            bool is_new =
                slice->macho.has_uuid && strcmp(fz_text_base_name(slice->path), image->name) == 0;
            /* One build may be given twice, as a bundle and in a zip. */
            for (size_t j = 0; j < named.n && is_new; j++)
                is_new = !fz_uuid_equal(&named.slices[j]->macho.uuid, &slice->macho.uuid);
            if (is_new)
                named.slices[named.n++] = slice;
        }
    }
    return named;
}

void
user_symbols_named_keep_arch(struct user_symbols_named *named, const char *arch)
{
    uint32_t type, subtype;
    if (!arch || !fz_arch_parse(arch, &type, &subtype))
        return;
    const char *wanted = fz_arch_name(type, subtype);
    struct user_symbols_named same = {.n = 0}, family = {.n = 0};
    for (size_t i = 0; i < named->n; i++) {
        const struct sym_file_slice *slice = named->slices[i];
        if (strcmp(slice->arch, wanted) == 0)
            same.slices[same.n++] = slice;
        if (slice->macho.cputype == type)
            family.slices[family.n++] = slice;
    }
    /* Reports call arm64e "ARM-64" too. */
    *named = same.n ? same : family;
}

static bool
is_in(const struct report *report, const struct report_frame *frame, size_t number)
{
    int image = frame->image >= 0 ? frame->image : report_image_at(report, frame->addr);
    return image >= 0 && (size_t)image == number;
}

static bool
each(const struct report *report, size_t number, const struct report_frame *frames, size_t n,
     user_symbols_named_frame_fn fn, void *user)
{
    for (size_t i = 0; i < n; i++) {
        /* Only the newest frame may be where the thread was; the others are return addresses. */
        bool may_be_exact = i == 0 && frames[i].adjust != REPORT_ADJUST_RETURN;
        if (is_in(report, &frames[i], number) && !fn(user, &frames[i], may_be_exact))
            return false;
    }
    return true;
}

bool
user_symbols_named_each(const struct report *report, size_t number, user_symbols_named_frame_fn fn,
                        void *user)
{
    for (size_t i = 0; i < report->n_threads; i++) {
        const struct report_thread *thread = &report->threads[i];
        if (!each(report, number, thread->frames, thread->n_frames, fn, user))
            return false;
    }
    return each(report, number, report->exception_frames, report->n_exception_frames, fn, user);
}

struct fit {
    const struct sym_macho *macho;
    uint64_t load;
};

/* Code of 64 bits is loaded above 4 GiB, code of 32 bits below. */
static bool
fits_width(void *user, const struct report_frame *frame, bool may_be_exact FZ_UNUSED)
{
    const struct fit *fit = user;
    bool is_wide = frame->addr > UINT32_MAX;
    return is_wide == (fz_arch_pointer_size(fit->macho->cputype) == 8);
}

/* Instructions of 64-bit ARM have four bytes. */
static bool
fits_alignment(void *user, const struct report_frame *frame, bool may_be_exact FZ_UNUSED)
{
    const struct fit *fit = user;
    return fit->macho->cputype != FZ_ARCH_ARM64 || frame->addr % 4 == 0;
}

static bool
fits_size(void *user, const struct report_frame *frame, bool may_be_exact FZ_UNUSED)
{
    const struct fit *fit = user;
    return fit->macho->text_vmsize == 0 ||
           (frame->addr >= fit->load && frame->addr - fit->load <= fit->macho->text_vmsize);
}

void
user_symbols_named_keep_fitting(struct user_symbols_named *named, const struct report *report,
                                size_t number)
{
    static const user_symbols_named_frame_fn tests[] = {fits_width, fits_alignment, fits_size};
    for (size_t i = 0; i < FZ_ARRAY_LEN(tests) && named->n > 1; i++) {
        struct user_symbols_named fitting = {.n = 0};
        for (size_t j = 0; j < named->n; j++) {
            struct fit fit = {&named->slices[j]->macho, report->images[number].addr};
            /* All frames must fit: one that does not proves another build or architecture. */
            if (user_symbols_named_each(report, number, tests[i], &fit))
                fitting.slices[fitting.n++] = named->slices[j];
        }
        if (fitting.n)
            *named = fitting;
    }
}

void
user_symbols_named_write(const struct user_symbols_named *named, const char *end,
                         struct fz_buffer *out)
{
    bool differ = false;
    if (named->n == 0)
        return;
    fz_buffer_printf(out, "%zu symbol file%s that name: ", named->n,
                     named->n == 1 ? " has" : "s have");
    for (size_t i = 0; i < named->n; i++) {
        char uuid[FZ_UUID_DASHED];
        fz_uuid_format_dashed(&named->slices[i]->macho.uuid, uuid);
        fz_buffer_printf(out, "%s%s UUID %s", i ? ", " : "", named->slices[i]->arch, uuid);
        differ = differ || strcmp(named->slices[i]->arch, named->slices[0]->arch) != 0;
    }
    if (end)
        fz_buffer_text(out, end);
    else if (named->n > 1)
        fz_buffer_text(out, differ ? "; choose one with -arch"
                                   : "; give only the right one with --dsym");
}
