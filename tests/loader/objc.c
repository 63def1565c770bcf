#include <stddef.h>

#include "loader.h"

const struct loader_symbol loader_symbols_objc[] = {{NULL, NULL}};
