/*
 * What every sub-command does first: read its command line, show its help, load its settings.
 *
 *   struct options options = options_make();
 *   int ended = command_start(&cmd_x_spec, argc, argv, &arguments, &options);
 *   if (ended >= 0)
 *       return ended;
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "server/config/config.h"
#include "server/config/options.h"

/* options_parse() with its messages. -1: go on; else the exit code of the command: 0 after --help,
 * 2 for wrong usage. */
int command_start(const struct command_spec *command, int argc, char **argv, void *values,
                  struct options *ret);

/* config_load() with its messages. -1: go on; 2: it failed. */
int command_config(const struct command_spec *command, int argc, char **argv, bool is_child,
                   struct config *ret);

/* A command that only has actions: run the one that argv[1] names. */
int command_run_action(const struct command_spec *command, int argc, char **argv);

#endif
