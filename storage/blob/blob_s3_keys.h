/*
 * The keys with which requests to an object store are signed, and where they come from.
 *
 *   environment  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
 *   file         AWS_SHARED_CREDENTIALS_FILE, else ~/.aws/credentials: "[profile]" and lines of
 *                aws_access_key_id, aws_secret_access_key, aws_session_token
 *   instance     the metadata service of the machine (EC2's IMDSv2, whose token a request that was
 *                tricked into going there cannot get); only if the URL names it
 *
 * A file is read again when it is another one, so keys can be changed without a restart. Thread-safe.
 */
#ifndef STORAGE_BLOB_S3_KEYS_H
#define STORAGE_BLOB_S3_KEYS_H

#include "base/net/net_signed.h"
#include "storage/blob/blob_s3_url.h"

struct blob_s3_keys; /* opaque */

/* Reads nothing yet. `place` is borrowed until the end. */
FZ_MUST_CHECK enum fz_code blob_s3_keys_create(const struct blob_s3_place *place,
                                               struct blob_s3_keys **ret, struct fz_error *err);
void blob_s3_keys_destroy(struct blob_s3_keys *keys);

/* DENIED: there are none, and the message says where they are looked for. UNAVAILABLE: the metadata
 * service does not answer. */
FZ_MUST_CHECK enum fz_code blob_s3_keys_get(struct blob_s3_keys *keys, struct net_keys *ret,
                                            struct fz_error *err);
/* The store refused them: the next call reads them anew. */
void blob_s3_keys_forget(struct blob_s3_keys *keys);

#endif
