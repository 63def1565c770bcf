#include "server/options_show.h"

void
options_show_bash(const struct command_spec *const *commands, struct fz_buffer *out)
{
    (void)commands;
    fz_buffer_text(out, "");
}

void
options_show_zsh(const struct command_spec *const *commands, struct fz_buffer *out)
{
    (void)commands;
    fz_buffer_text(out, "");
}
