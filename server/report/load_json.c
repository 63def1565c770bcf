/*
 * The symbolicated report read back from its JSON, the inverse of render_json.c.
 */
#include "server/report/render.h"
