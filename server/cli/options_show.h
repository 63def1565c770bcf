/*
 * What is made from the tables of options: --help, the manual page, the completions, README.md.
 */
#ifndef CLI_OPTIONS_SHOW_H
#define CLI_OPTIONS_SHOW_H

#include "base/buffer.h"
#include "server/config/options.h"

/* --help of one command, 80 columns wide. */
void options_show_help(const struct command_spec *command, bool has_colour, struct fz_buffer *out);

/* framezero(1) in the macros of man(7); `commands` ends with NULL. */
void options_show_man(const struct command_spec *const *commands, struct fz_buffer *out);

/* The tables of settings and limits in README.md. */
void options_show_readme(struct fz_buffer *out);

/* A script that bash, or zsh, sources. */
void options_show_bash(const struct command_spec *const *commands, struct fz_buffer *out);
void options_show_zsh(const struct command_spec *const *commands, struct fz_buffer *out);

/* Call `show` for each option of the command: its own, its settings, --help. */
typedef void (*options_show_fn)(const struct command_spec *command,
                                const struct option_spec *option, struct fz_buffer *out);
void options_show_each(const struct command_spec *command, options_show_fn show,
                       struct fz_buffer *out);

#endif
