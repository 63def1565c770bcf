/*
 * The sub-commands of `framezero`: one file each (cmd_<name>.c), dispatched by main.c.
 *
 * Exit codes: 0 success, 1 the work failed, 2 wrong usage. Results on standard output, messages on
 * standard error.
 */
#ifndef FZ_CMD_H
#define FZ_CMD_H

int cmd_serve(int argc, char **argv);
int cmd_worker(int argc, char **argv);
int cmd_child(int argc, char **argv); /* hidden: the sandboxed side of a worker */
int cmd_migrate(int argc, char **argv);
int cmd_token(int argc, char **argv);
int cmd_project(int argc, char **argv);
int cmd_upload(int argc, char **argv);
int cmd_symbolicate(int argc, char **argv);
int cmd_atos(int argc, char **argv);
int cmd_index(int argc, char **argv);
int cmd_lookup(int argc, char **argv);
int cmd_demangle(int argc, char **argv);
int cmd_inspect(int argc, char **argv);

#endif
