/*
 * Variables of a function or inlined call in the JSON of a report: written and read back.
 *
 * Private to this folder. The members are those of docs/api: name, type, kind, value, availability,
 * fields, and what is added to them: stale, address, location, fields_cut.
 */
#ifndef REPORT_VARIABLES_H
#define REPORT_VARIABLES_H

#include "base/json/write.h"
#include "server/report/load.h"

/* The members `variables`, `variables_cut` and `variables_availability` of the open object; those
 * that have nothing to say are left out. */
void report_write_variables(struct json_write *w, const struct report_symbol *symbol);

/* What report_write_variables() wrote into `object`. */
void report_load_variables(struct report_load *l, const json_t *object,
                           struct report_symbol *symbol);

#endif
