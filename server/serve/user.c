#include "server/serve/user.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/address.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "server/process/program.h"
#include "server/process/user.h"

static const char own_user[] = "framezero"; /* the one that packages make */

enum { LOW_PORTS = 1024 };

/* The folder that `path` is in; "." for a name alone. */
static void
parent_of(const char *path, char ret[PATH_MAX])
{
    snprintf(ret, PATH_MAX, "%s", path);
    size_t len = strlen(ret);
    while (len > 1 && ret[len - 1] == '/')
        ret[--len] = '\0';
    char *slash = strrchr(ret, '/');
    if (!slash)
        snprintf(ret, PATH_MAX, ".");
    else
        slash[slash == ret] = '\0';
}

/* The owner of the folder for the data, or of the nearest folder above it that is there. */
static void
owner_of(const char *path, struct user *ret)
{
    struct stat st;
    char at[PATH_MAX], above[PATH_MAX];
    snprintf(at, sizeof(at), "%s", path);
    while (stat(at, &st) != 0) {
        parent_of(at, above);
        if (strcmp(above, at) == 0)
            break;
        snprintf(at, sizeof(at), "%s", above);
    }
    user_of(st.st_uid, st.st_gid, ret);
}

static enum fz_code
choose(const struct config *config, struct user *ret, struct fz_error *err)
{
    if (config->user[0])
        return user_find(config->user, ret, err);
    owner_of(config->data_dir, ret);
    if (ret->uid != 0)
        return FZ_OK;
    return user_find(own_user, ret, err) == FZ_OK
               ? FZ_OK
               : fz_fail(
                     err, FZ_E_NOT_FOUND,
                     "there is no user %s: 'useradd --system %s' makes it, --user names another",
                     own_user, own_user);
}

/* ---- what the user needs ---- */

static enum fz_code
need(const struct user *user, const char *path, int mode, struct fz_error *err)
{
    /* What is not there yet is made, or reported by whoever needs it. */
    if (user_may(user, path, mode) || errno == ENOENT)
        return FZ_OK;
    return fz_fail(err, FZ_E_DENIED, "the user %s may not %s %s (%s)", user->name,
                   mode & W_OK   ? "write to"
                   : mode & R_OK ? "read"
                                 : "use",
                   path, strerror(errno));
}

/* The programs, and what settings name. */
static enum fz_code
need_files(const struct config *config, const struct user *user, struct fz_error *err)
{
    char child[PATH_MAX], parent[PATH_MAX];
    enum fz_code code = program_child_path(child, err);
    if (code == FZ_OK)
        code = need(user, child, X_OK, err);
    parent_of(config->data_dir, parent);
    if (code == FZ_OK)
        code = need(user, parent, X_OK, err);
    const char *const files[] = {config->file, config->oidc_client_secret_file, config->oidc_ca,
                                 config->alert_ca};
    for (size_t i = 0; code == FZ_OK && i < FZ_ARRAY_LEN(files); i++)
        code = files[i][0] ? need(user, files[i], R_OK, err) : FZ_OK;
    return code;
}

/* Wherever they are: in the folder for the data, which is the user's by now, or elsewhere. */
static enum fz_code
need_stores(const struct config *config, const struct user *user, struct fz_error *err)
{
    const char *const data[] = {config->data_dir, NULL, NULL, NULL};
    const char *paths[4];
    char folder[PATH_MAX] = "";
    memcpy(paths, data, sizeof(paths));
    if (fz_text_has_prefix(config->database, "sqlite:")) {
        paths[1] = config->database + strlen("sqlite:");
        parent_of(paths[1], folder); /* the database's log is made beside it */
        paths[2] = folder;
    }
    if (fz_text_has_prefix(config->blobs, "file:"))
        paths[3] = config->blobs + strlen("file:");
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < FZ_ARRAY_LEN(paths); i++)
        code = paths[i] ? need(user, paths[i], R_OK | W_OK, err) : FZ_OK;
    return code;
}

/* ---- what is handed over ---- */

struct handing {
    const struct user *user;
    bool is_ours, is_empty; /* the folder: of a server that was root so far; nothing in it */
};

static bool
is_known(const char *name)
{
    static const char *const starts[] = {"framezero.", "credentials.json", "blobs", "tmp",
                                         "reserve"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(starts); i++) {
        if (fz_text_has_prefix(name, starts[i]))
            return true;
    }
    return false;
}

static const char *
name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static enum fz_code
look_at(void *user, const char *path, const struct stat *st FZ_UNUSED,
        struct fz_error *err FZ_UNUSED)
{
    struct handing *handing = user;
    handing->is_empty = false;
    handing->is_ours = handing->is_ours || fz_text_has_prefix(name_of(path), "framezero.");
    return FZ_OK;
}

static enum fz_code
give_entry(void *user, const char *path, const struct stat *st FZ_UNUSED, struct fz_error *err)
{
    const struct handing *handing = user;
    return is_known(name_of(path)) ? user_give(handing->user, path, err) : FZ_OK;
}

/*
 * The folder for the data, if it is root's: then no other user has put anything in it, and changing the owner of what is
 * there gives nothing away. Only what a server makes: the folder could be any.
 */
static enum fz_code
give_data(const struct config *config, const struct user *user, struct fz_error *err)
{
    struct stat st;
    struct handing handing = {.user = user, .is_empty = true};
    enum fz_code code = fz_file_make_dirs(config->data_dir, err);
    if (code == FZ_OK && lstat(config->data_dir, &st) != 0)
        code = fz_fail_errno(err, "%s", config->data_dir);
    if (code != FZ_OK || !S_ISDIR(st.st_mode) || st.st_uid != 0)
        return code;
    code = fz_file_list(config->data_dir, look_at, &handing, err);
    if (code != FZ_OK || (!handing.is_empty && !handing.is_ours))
        return code;
    code = fz_file_list(config->data_dir, give_entry, &handing, err);
    return code == FZ_OK ? user_give_one(user, config->data_dir, err) : code;
}

/* ---- the whole ---- */

static bool
has_low_port(const struct config *config)
{
    struct fz_address address;
    return fz_address_parse(config->listen, &address, NULL) == FZ_OK && address.port < LOW_PORTS;
}

/* So that the thread of all clients may still go before others (server/http/http.c). Children cannot: their limit is 0. */
static void
keep_priority(void)
{
    enum { ALL = 40 };
    const struct rlimit nice = {ALL, ALL};
    fz_ignore(setrlimit(RLIMIT_NICE, &nice)); /* then it waits like others */
}

enum fz_code
serve_user_leave_root(const struct config *config, bool listens, struct fz_error *err)
{
    struct user user;
    struct fz_error why;
    char quoted[300];
    if (geteuid() != 0) {
        if (config->user[0] && user_find(config->user, &user, err) != FZ_OK)
            return FZ_E_NOT_FOUND;
        return !config->user[0] || user.uid == geteuid()
                   ? FZ_OK
                   : fz_fail(err, FZ_E_DENIED,
                             "only root can become the user %s: start this as root, or leave out "
                             "--user",
                             user.name);
    }
    if (strcmp(config->user, "root") == 0 || strcmp(config->user, "0") == 0)
        return FZ_OK;
    enum fz_code code = choose(config, &user, &why);
    if (code == FZ_OK)
        code = need_files(config, &user, &why);
    if (code == FZ_OK)
        code = give_data(config, &user, &why);
    if (code == FZ_OK)
        code = need_stores(config, &user, &why);
    if (code == FZ_OK)
        keep_priority();
    if (code == FZ_OK)
        code = user_become(&user, listens && has_low_port(config), &why);
    if (code == FZ_OK) {
        fz_log(FZ_LOG_INFO, "left root", "user=%s uid=%llu", user.name,
               (unsigned long long)user.uid);
        return FZ_OK;
    }
    /* Asked for by name, it must not be ignored; nor may a process go on that is half another user. */
    if (config->user[0] || code == FZ_E_INTERNAL)
        return fz_fail(err, code, "%s", why.text);
    fz_log(FZ_LOG_WARN, "runs as root", "why=%s", fz_log_quote(why.text, quoted, sizeof(quoted)));
    return FZ_OK;
}
