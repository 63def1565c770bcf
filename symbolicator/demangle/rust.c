#include "symbolicator/demangle/language.h"

#include <libiberty/demangle.h>
#include <setjmp.h>

#include "base/text.h"

struct run {
    struct fz_buffer text;
    jmp_buf too_long;
};

/* A v0 name can refer back to its parts and so grow exponentially: stop where it gets too long. */
static void
collect(const char *text, size_t len, void *user)
{
    struct run *run = user;
    fz_buffer_append(&run->text, text, len);
    if (run->text.failed)
        longjmp(run->too_long, 1);
}

bool
demangle_rust(const char *name, const struct sym_demangle_options *options, struct fz_buffer *out)
{
    (void)options;
    /* A v0 name ends before the first dot; what LLVM put behind it is shown in brackets, as for
     * every language. In legacy names dots are letters, and the library drops the suffix. */
    const char *suffix = name[1] == 'R' ? strchr(name, '.') : NULL;
    struct run run;
    struct fz_buffer head;
    fz_buffer_init(&run.text, DEMANGLE_TEXT_MAX);
    fz_buffer_init(&head, DEMANGLE_NAME_MAX + 1);
    fz_buffer_append(&head, name, suffix ? (size_t)(suffix - name) : strlen(name));
    bool done = setjmp(run.too_long) == 0 &&
                rust_demangle_callback(fz_buffer_cstr(&head), 0, collect, &run);
    /* The library decodes Punycode to whatever numbers stand there. */
    done = done && !head.failed && run.text.len > 0 && fz_text_is_utf8(fz_buffer_span(&run.text));
    if (done)
        fz_buffer_append(out, run.text.data, run.text.len);
    if (done && suffix)
        fz_buffer_printf(out, " (%s)", suffix);
    fz_buffer_deinit(&head);
    fz_buffer_deinit(&run.text);
    return done;
}
