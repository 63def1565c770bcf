/*
 * What is made from the tables of options: --help, the manual page, the completions, README.md.
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "base/buffer.h"
#include "server/config/options.h"

/* --help of one command, 80 columns wide. */
void help_append_text(const struct command_spec *command, bool has_colour, struct fz_buffer *out);

/* framezero(1) in the macros of man(7); `commands` ends with NULL. */
void help_append_manual(const struct command_spec *const *commands, struct fz_buffer *out);

/* The tables of settings and limits in README.md. */
void help_append_readme(struct fz_buffer *out);

/* A script that bash, or zsh, sources. */
void help_append_bash(const struct command_spec *const *commands, struct fz_buffer *out);
void help_append_zsh(const struct command_spec *const *commands, struct fz_buffer *out);

/* Call `show` for each option of the command: its own, its settings, --help. */
typedef void (*help_option_fn)(const struct command_spec *command, const struct option_spec *option,
                               struct fz_buffer *out);
void help_each_option(const struct command_spec *command, help_option_fn show,
                      struct fz_buffer *out);

#endif
