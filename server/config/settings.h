/*
 * The table of settings, config_settings[], and how each value is checked and stored. For config.c.
 */
#ifndef CONFIG_SETTINGS_H
#define CONFIG_SETTINGS_H

#include "server/config/config.h"

/* By key or by variable without FRAMEZERO_; "config" and "limit" have forms of their own there. */
const struct option_spec *config_find_setting(const char *name);

/* Check and store one value; `where` is named in messages. */
FZ_MUST_CHECK enum fz_code config_set(struct config *config, const struct option_spec *option,
                                      const char *value, const char *where, struct fz_error *err);
FZ_MUST_CHECK enum fz_code config_set_limit(struct limits *limits, const char *name,
                                            const char *value, const char *where,
                                            struct fz_error *err);

#endif
