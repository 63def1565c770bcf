#define _GNU_SOURCE /* setgroups, setresuid */
#include "server/process/user.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/log.h"
#include "base/text.h"

enum { GROUPS_MAX = 256, FOLDERS_OPEN = 32 };

static void
fill(const struct passwd *entry, struct user *ret)
{
    *ret = (struct user){.uid = entry->pw_uid, .gid = entry->pw_gid};
    snprintf(ret->name, sizeof(ret->name), "%s", entry->pw_name);
}

void
user_of(uid_t uid, gid_t gid, struct user *ret)
{
    const struct passwd *entry = getpwuid(uid);
    if (entry) {
        fill(entry, ret);
        return;
    }
    *ret = (struct user){.uid = uid, .gid = gid};
    snprintf(ret->name, sizeof(ret->name), "%llu", (unsigned long long)uid);
}

enum fz_code
user_find(const char *name, struct user *ret, struct fz_error *err)
{
    uint64_t number;
    const struct passwd *entry = getpwnam(name);
    if (entry) {
        fill(entry, ret);
        return FZ_OK;
    }
    if (fz_text_u64(fz_span_make(name, strlen(name)), &number) && number > 0 &&
        number < UINT32_MAX) {
        user_of((uid_t)number, (gid_t)number, ret);
        return FZ_OK;
    }
    return fz_fail(err, FZ_E_NOT_FOUND, "the system has no user '%.40s'", name);
}

/* ---- for a moment ---- */

/* Groups of the user's, as a login would have them. Without a name there is only the one. */
static bool
set_user_groups(const struct user *user)
{
    return getpwuid(user->uid) ? initgroups(user->name, user->gid) == 0
                               : setgroups(1, &user->gid) == 0;
}

/* What follows would run with some rights of each: no caller can go on. Not exit(), which runs what others registered. */
static _Noreturn void
stop_halfway(const struct user *user)
{
    fz_log(FZ_LOG_ERROR, "cannot get the rights of root back", "user=%s error=\"%s\"", user->name,
           strerror(errno));
    _exit(1);
}

bool
user_may(const struct user *user, const char *path, int mode)
{
    gid_t groups[GROUPS_MAX], gid = getegid();
    int n = getgroups(GROUPS_MAX, groups);
    if (n < 0)
        return false;
    bool may = set_user_groups(user) && setegid(user->gid) == 0 && seteuid(user->uid) == 0 &&
               faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0;
    int why = errno;
    if (seteuid(0) != 0 || setegid(gid) != 0 || setgroups((size_t)n, groups) != 0)
        stop_halfway(user);
    errno = why;
    return may;
}

/* ---- for good ---- */

/* Of all capabilities the one alone, also for programs that this one starts. */
static bool
keep_low_ports(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    uint32_t ports = CAP_TO_MASK(CAP_NET_BIND_SERVICE);
    data[0] = (struct __user_cap_data_struct){
        .effective = ports, .permitted = ports, .inheritable = ports};
    return syscall(SYS_capset, &header, data) == 0 &&
           prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_BIND_SERVICE, 0, 0) == 0;
}

enum fz_code
user_become(const struct user *user, bool keeps_low_ports, struct fz_error *err)
{
    if ((keeps_low_ports && prctl(PR_SET_KEEPCAPS, 1) != 0) || !set_user_groups(user) ||
        setresgid(user->gid, user->gid, user->gid) != 0 ||
        setresuid(user->uid, user->uid, user->uid) != 0 || (keeps_low_ports && !keep_low_ports()))
        return fz_fail(err, FZ_E_INTERNAL, "cannot become the user %s: %s", user->name,
                       strerror(errno));
    /* The kernel makes a process that changed its user unreadable for that user, and its own /proc with it. */
    fz_ignore(prctl(PR_SET_DUMPABLE, 1) != 0); /* a debugger could not attach, nothing more */
    return seteuid(0) == 0 ? fz_fail(err, FZ_E_INTERNAL, "the rights of root are still there")
                           : FZ_OK;
}

/* ---- what it owns ---- */

/* nftw() hands nothing through. Set only while user_give() runs, in the one thread there is. */
static const struct user *owner;
static struct fz_error *failure;

enum fz_code
user_give_one(const struct user *user, const char *path, struct fz_error *err)
{
    if (lchown(path, user->uid, user->gid) == 0)
        return FZ_OK;
    return fz_fail(err, FZ_E_DENIED, "cannot give %s to the user %s: %s", path, user->name,
                   strerror(errno));
}

static int
give_one(const char *path, const struct stat *st FZ_UNUSED, int type FZ_UNUSED,
         struct FTW *at FZ_UNUSED)
{
    return user_give_one(owner, path, failure) != FZ_OK;
}

enum fz_code
user_give(const struct user *user, const char *path, struct fz_error *err)
{
    struct fz_error ignored;
    owner = user;
    failure = err ? err : &ignored;
    int code = nftw(path, give_one, FOLDERS_OPEN, FTW_PHYS | FTW_MOUNT);
    owner = NULL;
    if (code < 0)
        return fz_fail_errno(err, "%s", path);
    return code == 0 ? FZ_OK : FZ_E_DENIED;
}
