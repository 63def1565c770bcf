/*
 * The names of report files in the folder that app and extension share.
 *
 *   RUN.part, RUN-hang.part, RUN-corpse.part   being written or prepared      RUN.json …   complete
 *   RUN.sending …                              handed out to be sent
 */
#ifndef FRAMEZERO_PENDING_H
#define FRAMEZERO_PENDING_H

enum framezero_name {
    FRAMEZERO_NAME_FOREIGN, /* not a file of this library */
    FRAMEZERO_NAME_PART,
    FRAMEZERO_NAME_CORPSE_PART, /* of an extension, which may be writing it */
    FRAMEZERO_NAME_COMPLETE,
    FRAMEZERO_NAME_SENDING,
};

enum framezero_name framezero_name_kind(const char *name);

/* Remove from `folder` what earlier runs left: prepared files, and reports that were handed out and not returned. */
void framezero_pending_clean(const char *folder);

#endif
