/*
 * Where an object store is: s3://BUCKET/PREFIX?endpoint=URL&region=NAME&…, taken apart.
 *
 *   endpoint=URL       http or https, host and port alone; without it https://s3.REGION.amazonaws.com
 *   region=NAME        else AWS_REGION, else AWS_DEFAULT_REGION, else us-east-1
 *   path_style=1       https://HOST/BUCKET/KEY, the default with an endpoint; 0: https://BUCKET.HOST/KEY
 *   ca_file=FILE       certificates to trust in place of the system's
 *   credentials=WHERE  environment, file or instance; without it the environment, then the file
 *   profile=NAME       the section of the file; else AWS_PROFILE, else default
 *
 * Values may be written with %XX. Keys and their secrets do not belong into the URL, which is logged.
 * Pure, but for the environment.
 */
#ifndef STORAGE_BLOB_S3_URL_H
#define STORAGE_BLOB_S3_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum blob_s3_source {
    BLOB_S3_ANYWHERE, /* the environment, then the file */
    BLOB_S3_ENVIRONMENT,
    BLOB_S3_FILE,
    BLOB_S3_INSTANCE,
};

struct blob_s3_place {
    char bucket[64], prefix[256]; /* prefix: "" or with a slash at its end, none at its start */
    char endpoint[256];           /* without a slash at its end */
    char base[512];               /* what is before the key: ".../", with the bucket */
    char region[64], profile[64], ca_file[512];
    bool path_style;
    enum blob_s3_source source;
};

/* MALFORMED: what is wrong with it, for whoever wrote it. */
FZ_MUST_CHECK enum fz_code blob_s3_url_parse(const char *url, struct blob_s3_place *ret,
                                             struct fz_error *err);

#endif
