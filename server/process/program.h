/*
 * How the running program starts itself again: workers and their children are other roles of the same program.
 */
#ifndef PROCESS_PROGRAM_H
#define PROCESS_PROGRAM_H

/* The path to execute; it stays right after an upgrade has replaced the program's file. Borrowed for ever. */
const char *program_path(void);

#endif
