/*
 * The SQL files of migrations/, compiled in by embed_migrations.cmake.
 */
#ifndef STORE_MIGRATIONS_H
#define STORE_MIGRATIONS_H

#include <stddef.h>

#include "base/span.h"

struct store_migration {
    int version;              /* the number at the start of the file's name */
    const char *name;         /* the file's name */
    const unsigned char *sql; /* NUL-terminated */
    size_t len;
};

/* In ascending order of version, without gaps from 1. */
extern const struct store_migration migrations_sqlite[], migrations_postgresql[];
extern const size_t n_migrations_sqlite, n_migrations_postgresql;

#endif
