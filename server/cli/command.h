/*
 * How a sub-command begins: its command line is read, its help shown, its settings loaded.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "server/config/config.h"
#include "server/config/options.h"

/*
 * Read the command line of `command`, which is one of `commands` (they end with NULL), and run it,
 * or the action of it that argv[1] names. Returns the exit code: the command's own, 0 after --help,
 * 2 for wrong usage.
 */
int command_run(const struct command_spec *command, const struct command_spec *const *commands,
                int argc, char **argv);

/* config_load() for a command that runs. False: it failed, which is reported; the exit code is 2. */
bool command_config(const struct command_call *call, bool is_child, struct config *ret);

#endif
