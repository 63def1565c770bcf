/*
 * The sub-commands of `framezero`: one file each (cmd_<name>.c), dispatched by main.c.
 *
 * Exit codes: 0 success, 1 the work failed, 2 wrong usage. Results on standard output, messages on
 * standard error.
 */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include <stdio.h>

#include "server/config/options.h"

extern const struct command_spec cmd_serve, cmd_worker, cmd_migrate, cmd_token, cmd_project,
    cmd_user, cmd_row_security, cmd_prune, cmd_backup, cmd_restore, cmd_copy, cmd_upload,
    cmd_symbolicate, cmd_index, cmd_lookup, cmd_atos, cmd_inspect, cmd_demangle, cmd_help;

/* What `framezero` alone and `framezero --help` show of `commands`, which ends with NULL. */
void cmd_help_overview(const struct command_spec *const *commands, FILE *to);

#endif
