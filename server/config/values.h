/*
 * How the values of settings are checked and stored: the `set` of rows of config_settings[].
 *
 * Each is an option_set_fn; MALFORMED names `where` the value comes from, what is wrong and what is
 * expected.
 */
#ifndef CONFIG_VALUES_H
#define CONFIG_VALUES_H

#include "server/config/config.h"

/* A text that is not empty. */
FZ_MUST_CHECK enum fz_code config_value_text(const struct option_spec *option, void *field,
                                             const char *value, const char *where,
                                             struct fz_error *err);
/* One of the words that completions offer. */
FZ_MUST_CHECK enum fz_code config_value_word(const struct option_spec *option, void *field,
                                             const char *value, const char *where,
                                             struct fz_error *err);
FZ_MUST_CHECK enum fz_code config_value_listen(const struct option_spec *option, void *field,
                                               const char *value, const char *where,
                                               struct fz_error *err);
/* A text; "" undoes what the file sets. */
FZ_MUST_CHECK enum fz_code config_value_or_clear(const struct option_spec *option, void *field,
                                                 const char *value, const char *where,
                                                 struct fz_error *err);
FZ_MUST_CHECK enum fz_code config_value_url(const struct option_spec *option, void *field,
                                            const char *value, const char *where,
                                            struct fz_error *err);
FZ_MUST_CHECK enum fz_code config_value_database(const struct option_spec *option, void *field,
                                                 const char *value, const char *where,
                                                 struct fz_error *err);
FZ_MUST_CHECK enum fz_code config_value_blobs(const struct option_spec *option, void *field,
                                              const char *value, const char *where,
                                              struct fz_error *err);
FZ_MUST_CHECK enum fz_code config_value_bool(const struct option_spec *option, void *field,
                                             const char *value, const char *where,
                                             struct fz_error *err);
FZ_MUST_CHECK enum fz_code config_value_proxies(const struct option_spec *option, void *field,
                                                const char *value, const char *where,
                                                struct fz_error *err);
FZ_MUST_CHECK enum fz_code config_value_origins(const struct option_spec *option, void *field,
                                                const char *value, const char *where,
                                                struct fz_error *err);
/* The name of a header. */
FZ_MUST_CHECK enum fz_code config_value_header(const struct option_spec *option, void *field,
                                               const char *value, const char *where,
                                               struct fz_error *err);
/* The URL of an OpenID provider. */
FZ_MUST_CHECK enum fz_code config_value_issuer(const struct option_spec *option, void *field,
                                               const char *value, const char *where,
                                               struct fz_error *err);
/* Domains of mail addresses with commas or spaces between them, or "*". */
FZ_MUST_CHECK enum fz_code config_value_domains(const struct option_spec *option, void *field,
                                                const char *value, const char *where,
                                                struct fz_error *err);
/* GROUP=ROLE with commas between them. */
FZ_MUST_CHECK enum fz_code config_value_groups(const struct option_spec *option, void *field,
                                               const char *value, const char *where,
                                               struct fz_error *err);
/* As net_guard_parse() takes it. */
FZ_MUST_CHECK enum fz_code config_value_internal(const struct option_spec *option, void *field,
                                                 const char *value, const char *where,
                                                 struct fz_error *err);
FZ_MUST_CHECK enum fz_code config_value_smtp(const struct option_spec *option, void *field,
                                             const char *value, const char *where,
                                             struct fz_error *err);
/* A mail address. */
FZ_MUST_CHECK enum fz_code config_value_mail(const struct option_spec *option, void *field,
                                             const char *value, const char *where,
                                             struct fz_error *err);

/* unsigned or int, from min to max. */
FZ_MUST_CHECK enum fz_code config_value_number(const struct option_spec *option, void *field,
                                               const char *value, const char *where,
                                               struct fz_error *err);
/* NAME=VALUE, for a struct limits. */
FZ_MUST_CHECK enum fz_code config_value_limit(const struct option_spec *option, void *field,
                                              const char *value, const char *where,
                                              struct fz_error *err);

#endif
