#include "pending.h"

#include "../include/framezero.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/*
 * No locks: a process that is suspended with a lock of an app group is killed. Every step is one rename, which one of
 * two processes wins.
 */
enum { RUN_ID = 36, STALE_S = 3600 };

static bool
is_run_id(const char *name)
{
    for (int i = 0; i < RUN_ID; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        bool is_hex = (name[i] >= '0' && name[i] <= '9') || (name[i] >= 'a' && name[i] <= 'f');
        if (is_dash ? name[i] != '-' : !is_hex)
            return false;
    }
    return true;
}

enum framezero_name
framezero_name_kind(const char *name)
{
    if (!is_run_id(name))
        return FRAMEZERO_NAME_FOREIGN;
    name += RUN_ID;
    bool is_corpse = strncmp(name, "-corpse", 7) == 0;
    if (is_corpse)
        name += 7;
    else if (strncmp(name, "-hang", 5) == 0)
        name += 5;
    if (strcmp(name, ".part") == 0)
        return is_corpse ? FRAMEZERO_NAME_CORPSE_PART : FRAMEZERO_NAME_PART;
    if (strcmp(name, ".json") == 0)
        return FRAMEZERO_NAME_COMPLETE;
    return strcmp(name, ".sending") == 0 ? FRAMEZERO_NAME_SENDING : FRAMEZERO_NAME_FOREIGN;
}

/* FOLDER/NAME with the ending after its last point replaced; false if it is too long. */
static bool
make_path(char path[FRAMEZERO_PATH_MAX], const char *folder, const char *name, const char *ending)
{
    const char *point = ending ? strrchr(name, '.') : NULL;
    size_t n_folder = strlen(folder), n_name = point ? (size_t)(point - name) : strlen(name);
    size_t n_ending = ending ? strlen(ending) : 0;
    if (n_folder + n_name + n_ending + 2 > FRAMEZERO_PATH_MAX)
        return false;
    memcpy(path, folder, n_folder);
    path[n_folder] = '/';
    memcpy(path + n_folder + 1, name, n_name);
    memcpy(path + n_folder + 1 + n_name, ending ? ending : "", n_ending);
    path[n_folder + 1 + n_name + n_ending] = '\0';
    return true;
}

void
framezero_pending_clean(const char *folder)
{
    char path[FRAMEZERO_PATH_MAX];
    struct stat status;
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    time_t now = time(NULL);
    for (struct dirent *entry; (entry = readdir(dir));) {
        enum framezero_name kind = framezero_name_kind(entry->d_name);
        bool is_old = kind == FRAMEZERO_NAME_PART || kind == FRAMEZERO_NAME_SENDING;
        if (!make_path(path, folder, entry->d_name, NULL))
            continue;
        /* The extension runs after the crash, perhaps while the app starts again. */
        if (kind == FRAMEZERO_NAME_CORPSE_PART)
            is_old = stat(path, &status) == 0 && now - status.st_mtime > STALE_S;
        if (is_old)
            unlink(path);
    }
    closedir(dir);
}

int
framezero_pending_next(const char *folder, char path[FRAMEZERO_PATH_MAX])
{
    char from[FRAMEZERO_PATH_MAX];
    int found = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return -1;
    for (struct dirent *entry; !found && (entry = readdir(dir));) {
        if (framezero_name_kind(entry->d_name) != FRAMEZERO_NAME_COMPLETE ||
            !make_path(from, folder, entry->d_name, NULL) ||
            !make_path(path, folder, entry->d_name, ".sending"))
            continue;
        /* Another process may have taken it meanwhile. */
        found = rename(from, path) == 0;
    }
    closedir(dir);
    return found;
}

static bool
is_sending(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash && framezero_name_kind(slash + 1) == FRAMEZERO_NAME_SENDING;
}

int
framezero_pending_return(const char *path)
{
    char back[FRAMEZERO_PATH_MAX];
    const char *point = path ? strrchr(path, '.') : NULL;
    if (!is_sending(path) || (size_t)(point - path) + sizeof(".json") > sizeof(back)) {
        errno = EINVAL;
        return -1;
    }
    memcpy(back, path, (size_t)(point - path));
    memcpy(back + (point - path), ".json", sizeof(".json"));
    return rename(path, back);
}

int
framezero_pending_done(const char *path)
{
    if (!is_sending(path)) {
        errno = EINVAL;
        return -1;
    }
    return unlink(path);
}
