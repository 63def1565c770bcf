"""The rules that hold for the whole tree, as functions from {path: text} to a list of "path:line: what is wrong".

docs/ARCHITECTURE.md and docs/CONTRIBUTING.md describe them; test_rules.py breaks each one once.
"""
import re

import architecture
import fuzz
import page
import style
from source import is_code, matches

MAX_LINES = 500


def check_sizes(files):
    """No source file is longer than MAX_LINES."""
    problems = []
    for path, text in sorted(files.items()):
        n_lines = text.count("\n")
        if path.endswith((".c", ".h", ".py")) and n_lines > MAX_LINES:
            problems.append(f"{path}:{n_lines}: {n_lines} lines, at most {MAX_LINES}: split it by phase or format")
    return problems


def check_headers(files):
    """A header says in its first lines what it gives, is guarded, and its results cannot be dropped by accident."""
    problems = []
    for path, text in sorted(files.items()):
        if not is_code(path) or not path.endswith(".h"):
            continue
        if not re.match(r"/\*\s[\s*]*\S.*?\*/\n#ifndef \w+_H\n#define \w+_H\n", text, re.S):
            problems.append(f"{path}:1: opens with no comment of what it gives, followed by its guard")
        for name, line, found in matches({path: text}, r"^(FZ_MUST_CHECK )?enum fz_code\s+(\w+)\("):
            # fz_fail() and its kind make errors; they do not meet them.
            if not found.group(1) and not re.search(r"_(fail|wrap)", found.group(2)):
                problems.append(f"{name}:{line}: {found.group(2)} can fail and is not FZ_MUST_CHECK")
    return problems


def check_sql(files):
    """SQL is written in storage and migrations only."""
    pattern = r'"\s*(SELECT\s|INSERT\s+INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|CREATE\s+(TABLE|INDEX)\s)'
    return [f"{path}:{line}: SQL outside storage: {found.group(1).strip()}"
            for path, line, found in matches(files, pattern)
            if not path.startswith("storage/")]


def check_functions(files):
    """Functions that do not know the size of their target, or that hide failures, are not used."""
    pattern = r"\b(strcpy|strcat|sprintf|vsprintf|gets|atoi|atol|atoll|strtok|tmpnam|mktemp|alloca)\s*\("
    return [f"{path}:{line}: {found.group(1)}() is not used here" for path, line, found in matches(files, pattern)]


# What only Linux or glibc has, and where it may be used: in base/platform.h's files and in the modules of the server, which
# runs on Linux. Everything else is also built for macOS and with musl.
LINUX_MODULES = ("base/platform_linux.c", "base/digest.", "storage/", "server/http/", "server/alert/", "server/api/", "server/clients/", "server/web/",
               "server/child/", "server/children/", "server/sandbox/", "server/protocol/", "server/oidc/", "server/outbox/", "server/worker/", "server/serve/",
               "server/process/metrics", "server/process/program.c", "server/process/supervise", "server/process/trim.c",
               "server/process/user.c",
               "server/cli/cmd_serve.c", "server/cli/cmd_worker.c", "server/cli/backup_files.")
# Of those modules, what the command line uses too (fz_http_client in server/http/CMakeLists.txt).
PORTABLE_FILES = ("server/http/client.",)
LINUX_HEADERS = (r"linux/[^>]*|asm/[^>]*|sys/(?:auxv|capability|epoll|eventfd|fanotify|fsuid|inotify|klog|personality|prctl|"
                 r"ptrace|quota|random|sendfile|signalfd|statfs|swap|syscall|sysinfo|sysmacros|timerfd|ucontext|vfs|xattr|"
                 r"cdefs)\.h|argp\.h|argz\.h|byteswap\.h|endian\.h|envz\.h|err\.h|error\.h|execinfo\.h|features\.h|"
                 r"fts\.h|gnu/[^>]*|link\.h|malloc\.h|mcheck\.h|obstack\.h|printf\.h|sched\.h|threads\.h|ucontext\.h|values\.h")
LINUX_CALLS = (
    r"accept4|aligned_alloc|arc4random\w*|argp_parse|asprintf|vasprintf|backtrace|canonicalize_file_name|clone|close_range|"
    r"closefrom|copy_file_range|dup3|epoll_\w+|euidaccess|eventfd|execvpe|explicit_bzero|fallocate|fanotify_\w+|fdatasync|"
    r"fexecve|fopencookie|get_current_dir_name|get_nprocs\w*|get_phys_pages|getauxval|getentropy|getrandom|gettid|"
    r"inotify_\w+|io_uring_\w+|madvise|mallinfo2?|malloc_trim|malloc_usable_size|mallopt|memalign|memfd_create|memmem|"
    r"mempcpy|memrchr|mkostemps?|mremap|name_to_handle_at|on_exit|pidfd_\w+|pipe2|posix_fadvise|posix_fallocate|ppoll|prctl|"
    r"prlimit|process_vm_\w+|pthread_(?:\w+_np|tryjoin_np|timedjoin_np|setaffinity_np|mutex_timedlock|spin_\w+|barrier_\w+|"
    r"condattr_setclock)|pvalloc|qsort_r|quick_exit|rawmemchr|readahead|reallocarray|recvmmsg|renameat2|sched_\w+|"
    r"secure_getenv|sem_(?:init|timedwait)|sendfile|sendmmsg|setns|sigabbrev_np|sigdescr_np|signalfd|sigtimedwait|"
    r"sigwaitinfo|splice|statx|strchrnul|strcasestr|strerrordesc_np|strerrorname_np|strtod_l|sync_file_range|syncfs|syscall|"
    r"timegm|timer_(?:create|settime)|timerfd_\w+|unshare|valloc|vmsplice|vfork|clock_nanosleep|strverscmp|tdelete|"
    r"program_invocation\w*")
LINUX_WORDS = (
    r"MAP_(?:POPULATE|NORESERVE|HUGETLB|LOCKED|ANONYMOUS)|MADV_\w+|MFD_\w+|SOCK_(?:CLOEXEC|NONBLOCK)|MSG_(?:NOSIGNAL|CMSG_CLOEXEC)|"
    r"O_(?:PATH|TMPFILE|DIRECT|NOATIME|LARGEFILE)|CLOCK_(?:MONOTONIC_(?:RAW|COARSE)|REALTIME_COARSE|BOOTTIME)|EPOLL\w+|"
    r"SCHED_(?:IDLE|BATCH)|PR_[A-Z_]+|SO_PEERCRED|SCM_CREDENTIALS|RLIMIT_(?:NICE|RTPRIO|SIGPENDING|LOCKS)|"
    r"PTHREAD_\w+_NP|st_[amc]tim\b|__GLIBC__|__linux__|_GNU_SOURCE|_DEFAULT_SOURCE|_BSD_SOURCE|program_invocation_\w+")


def is_portable(path):
    """Must it compile where there is neither Linux nor glibc?"""
    # client/ is for Apple's systems only.
    return is_code(path) and (path.startswith(PORTABLE_FILES) or not path.startswith(LINUX_MODULES + ("client/",)))


def check_portable(files):
    """The command line uses nothing that only Linux or glibc has, except through base/platform.h, and no hashes."""
    problems = []
    for path, line, found in matches(files, r'"(?:[^"\\\n]|\\.)*"'
                                            rf"|^[ \t]*#[ \t]*include[ \t]+<({LINUX_HEADERS})>"
                                            rf"|(?<![\w.>])(?:({LINUX_CALLS})\s*\(|({LINUX_WORDS})\b)", is_portable):
        header, call, word = found.groups()
        what = f"<{header}>" if header else f"{call}()" if call else word
        if what:
            problems.append(f"{path}:{line}: {what} is not on every system: use or extend base/platform.h")
        elif found.group().startswith('"/proc/'):
            problems.append(f"{path}:{line}: /proc is Linux's: use or extend base/platform.h")
        elif found.group() == '"base/digest.h"':
            problems.append(f"{path}:{line}: only the server hashes: a build without it has no libcrypto")
    return problems


def check_cleanups(files):
    """A variable with a cleanup has its value where it is declared, alone: no return can come before its value."""
    problems = []
    c_file = lambda path: path.endswith((".c", ".h")) and path != "base/attr.h"
    for path, line, found in matches(files, r"\bFZ_CLEANUP\s*\(\s*\w+\s*\)([^;{]*)|\bjson_auto_t\b([^;{]*)"
                                            r"|__attribute__\s*\(\(\s*(?:__)?cleanup", c_file):
        declared = found.group(1) if found.group(1) is not None else found.group(2)
        if declared is None:
            problems.append(f"{path}:{line}: a cleanup is declared with FZ_CLEANUP()")
            continue
        name = re.match(r"\s*((?:const\s+|struct\s+)*\w*[\s*]+\w+)\s*(=)?", declared)
        if not name or not name.group(2) or "FZ_CLEANUP" in declared:
            problems.append(f"{path}:{line}: a variable with a cleanup is declared alone and with its value: "
                            "FZ_CLEANUP(x_deinit) struct x name = x_make();")
    return problems


def check_places(files):
    """Nothing names a package archive's host or a folder of one machine."""
    # In pieces, so that this file passes its own rule.
    hosts = ["deb.debian" + r"\.org", "security.debian" + r"\.org", "snapshot.debian" + r"\.org",
             "registry.npmjs" + r"\.org", "pypi" + r"\.org", "files.pythonhosted" + r"\.org", "crates" + r"\.io",
             "proxy.golang" + r"\.org", "archive.ubuntu" + r"\.com"]
    folders = ["/wo" + "rk/", "/ro" + "ot/", "/ho" + "me/[a-z]"]
    pattern = re.compile("|".join(hosts) + r"|(?<![\w.>}])(?:" + "|".join(folders) + ")")
    problems = []
    for path, text in sorted(files.items()):
        for number, line in enumerate(text.split("\n"), 1):
            found = pattern.search(line)
            if found:
                problems.append(f"{path}:{number}: names {found.group()}")
    return problems


CHECKS = {
    **architecture.CHECKS,
    **fuzz.CHECKS,
    **page.CHECKS,
    **style.CHECKS,
    "sizes": check_sizes,
    "headers": check_headers,
    "sql": check_sql,
    "functions": check_functions,
    "cleanups": check_cleanups,
    "portable": check_portable,
    "places": check_places,
}
