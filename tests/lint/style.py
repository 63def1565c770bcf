"""The rules for the C code itself: one style in all modules (docs/CONTRIBUTING.md). rules.py lists the checks.

Each check is a function from {path: text} to a list of "path:line: what is wrong"; test_rules.py breaks each one once.
"""
import re

import cycles
from source import included, is_code, line_of, matches, without_comments

MAX_PARAMETERS = 7
MIN_LINES = 60

# What the names of a folder's functions, variables and types begin with; the longest folder that fits counts.
# FILE: the first word of the file's name, where each file has a subject of its own.
PREFIXES = {
    "base/": "fz_",
    "base/arch/": "fz_arch_ arch_",
    "base/json/": "json_",
    "base/net/": "net_",
    "client/": "framezero_",
    "symbolicator/": "sym_",
    "symbolicator/macho/": "sym_ macho_",
    "symbolicator/dwarf/": "sym_ dwarf_ libdwarf_",
    "symbolicator/index/": "sym_ index_",
    "symbolicator/archive/": "sym_ archive_",
    "symbolicator/process/": "sym_ process_",
    "symbolicator/unwind/": "sym_ unwind_",
    "symbolicator/variables/": "sym_ variables_",
    "storage/": "store_",
    "storage/sql/": "sql_",
    "storage/blob/": "blob_",
    "server/alert/": "alert_",
    "server/api/": "api_",
    "server/child/": "child_",
    "server/children/": "children_ child_process_",
    "server/cli/": "cmd_ command_ FILE",
    "server/clients/": "clients_",
    "server/clients/sentry/": "sentry_ clients_",
    "server/clients/symbolicate_v5/": "v5_ clients_",
    "server/config/": "config_ command_ FILE",
    "server/group/": "group_",
    "server/http/": "http_",
    "server/ingest/": "ingest_",
    "server/ingest/apple/": "ips_ metrickit_ ingest_",
    "server/ingest/bugsnag/": "bugsnag_ ingest_",
    "server/ingest/containers/": "multipart_ ingest_",
    "server/ingest/kscrash/": "kscrash_ ingest_",
    "server/ingest/minidump/": "minidump_ ingest_",
    "server/ingest/native/": "native_ ingest_",
    "server/ingest/plcrash/": "plcrash_ protobuf_ ingest_",
    "server/ingest/quincy/": "quincy_ ingest_",
    "server/ingest/sentry/": "sentry_ ingest_",
    "server/ingest/text/": "text_ ingest_",
    "server/oidc/": "oidc_",
    "server/outbox/": "outbox_",
    "server/process/": "FILE",
    "server/protocol/": "proto_",
    "server/query/": "query_",
    "server/report/": "report_ render_ annotate_",
    "server/resolve/": "resolve_",
    "server/sandbox/": "sandbox_",
    "server/scrub/": "scrub_",
    "server/serve/": "serve_",
    "server/upload/": "upload_",
    "server/web/": "web_",
    "server/worker/": "worker_ job_",
}

# Functions whose parameters a library prescribes.
PRESCRIBED = {
    "http_request_on_data": "libmicrohttpd's MHD_AccessHandlerCallback",
}

# Files under MIN_LINES that are not part of another file, and why.
SMALL_FILES = {
    "server/cli/cmd_migrate.c": "a sub-command is a file",
    "server/cli/no_server.c": "replaces the server's commands in a build without it",
    "server/cli/no_upload.c": "replaces the upload command in a build without libcurl",
    "server/cli/no_server.c": "what a build without a server has in place of its commands",
    "server/cli/no_upload.c": "what a build without libcurl has in place of cmd_upload.c",
    "server/children/level.c": "what a parent says of the sandbox is neither its pool nor one child",
    "server/sandbox/files.c": "each lock is a file",
    "base/random.c": "what happens when the system has no random bytes is the same on every platform",
    "server/web/web.c": "the list of the page's routes, which uses all of them",
    "server/clients/clients.c": "the list of client protocols, which uses all of them",
    "server/web/web.c": "the list of tables, which uses all of them",
    "symbolicator/demangle/swift/kinds.c": "the list of kinds.h as a table; printers, which it names, cannot use the file",
    "symbolicator/demangle/cxx/system.c": "built only where libc++abi.a cannot be taken apart",
}

# A variable of this name holds an enum fz_code; so does what these functions return.
CODE_VARIABLE = re.compile(r"(?:\b(?:if|while)\s*\(|&&|\|\||[(=,](?=\s*!)|\breturn\b(?=\s*!))\s*(!?code)\s*(?:\)|&&|\|\||\?|;)"
                           r"|(?<=[=(,\s])(code)\s*\?")
RETURNS_CODE = re.compile(r"^[ \t]*(?:FZ_MUST_CHECK\s+|static\s+|inline\s+)*enum fz_code\s+(\w+)\(", re.M)


def closing(text, at):
    """The position after the parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    return len(text)


def check_codes(files):
    """A code is compared with FZ_OK: `if (code)` reads as "if it worked"."""
    problems = []
    public = {name for path, text in files.items() if is_code(path) and path.endswith(".h")
              for name in RETURNS_CODE.findall(cycles.bare(text))}
    for path, text in sorted(files.items()):
        if not is_code(path):
            continue
        bare = cycles.bare(text)
        if re.search(r"\benum fz_code code\b", bare):
            for found in CODE_VARIABLE.finditer(bare):
                problems.append(f"{path}:{line_of(bare, found.start())}: compare the code with FZ_OK")
        names = public | set(RETURNS_CODE.findall(bare))
        for found in re.finditer(r"(?:\b(?:if|while)\s*\(|&&|\|\|)\s*!?(\w+)(\()", bare):
            if found.group(1) in names and not re.match(r"\s*[=!]=", bare[closing(bare, found.start(2)):]):
                problems.append(f"{path}:{line_of(bare, found.start())}: compare {found.group(1)}() with FZ_OK")
    return problems


def prefixes_of(path):
    folders = [folder for folder in PREFIXES if path.startswith(folder)]
    stem = re.split(r"[_.]", path.rsplit("/", 1)[-1])[0].rstrip("s")
    return [stem if prefix == "FILE" else prefix for prefix in PREFIXES[max(folders, key=len)].split()] if folders else []


def check_names(files):
    """What other files can use has its module's prefix."""
    problems = []
    for path, text in sorted(files.items()):
        if not is_code(path):
            continue
        bare, prefixes = cycles.bare(text), prefixes_of(path)
        if path.endswith(".c"):
            names = cycles.definitions(bare)[0]
        else:
            names = set(re.findall(r"^(?:struct|enum|union) (\w+) \{", bare, re.M))
        for name in sorted(names - {"main", "recv"}):  # server/http/filter.c takes the place of the C library's recv()
            # `struct report` is what the report_ functions work on.
            if not any(name.startswith(prefix) or name + "_" == prefix for prefix in prefixes):
                line = line_of(bare, re.search(rf"\b{name}\b", bare).start())
                problems.append(f"{path}:{line}: {name} does not begin with {' or '.join(prefixes)}")
    return problems


def check_typedefs(files):
    """Structs are called structs; only callbacks have a typedef, named *_fn."""
    return [f"{path}:{line}: a typedef is for callbacks only, named *_fn"
            for path, line, found in matches(files, r"^[ \t]*typedef\b([^;{]*)")
            if not re.search(r"(\(\*|\b)\w+_fn\)?\(", found.group(1))]


def check_gotos(files):
    """Cleanup is FZ_CLEANUP's work."""
    return [f"{path}:{line}: goto" for path, line, _ in matches(files, r"\bgoto\s+\w+;")]


def check_parameters(files):
    """A function with more parameters than a reader can keep apart lacks a struct."""
    problems = []
    for path, text in sorted(files.items()):
        if not is_code(path):
            continue
        bare = cycles.bare(text)
        for found in re.finditer(r"^(?:[A-Za-z_][^\n;{}=#()]*\n|[A-Za-z_][^\n;{}=#()]*[ *])([a-z_]\w*)(\()", bare, re.M):
            end = closing(bare, found.start(2))
            # Parameters that are function pointers have commas of their own.
            inner = bare[found.start(2) + 1:end - 1]
            while "(" in inner:
                inner = re.sub(r"\([^()]*\)", "", inner) if re.search(r"\([^()]*\)", inner) else inner.replace("(", "")
            n = inner.count(",") + 1
            if n > MAX_PARAMETERS and found.group(1) not in PRESCRIBED and re.match(r"[\s\w()]*[;{]", bare[end:]):
                problems.append(f"{path}:{line_of(bare, found.start(1))}: {found.group(1)}() has {n} parameters, at most "
                                f"{MAX_PARAMETERS}: group them in a struct")
    return problems


def check_small_files(files):
    """A file too small for a subject of its own is part of another one."""
    problems = [f"{path}: SMALL_FILES in tests/lint/style.py lists a file that does not exist or is not small"
                for path in SMALL_FILES if path not in files or files[path].count("\n") >= MIN_LINES]
    for path, text in sorted(files.items()):
        n_lines = text.count("\n")
        # A sub-command is a file of its own (docs/CONTRIBUTING.md).
        is_exempt = path in SMALL_FILES or path.startswith("server/cli/cmd_")
        if is_code(path) and path.endswith(".c") and n_lines < MIN_LINES and not is_exempt:
            problems.append(f"{path}:1: {n_lines} lines, at least {MIN_LINES}: merge it into another file")
    return problems


STATEMENT = re.compile(r"^[\s/*]*(?:(?:if|for|while|switch) \(.*\)(?: \{)?|(?:return\b[^.]*|[\w>.\[\]-]+ [-+|&]?= [^;]+|"
                       r"\w+\([^;]*\)|(?:struct|enum|const|char|int|size_t|bool|uint\d+_t) [^;]*|break|continue);)[\s*/]*$")


def check_old_code(files):
    """Code that is not used is in the repository's history."""
    problems = []
    for path, text in sorted(files.items()):
        # A header's comment may show how to use it.
        if not is_code(path) or not path.endswith(".c"):
            continue
        for found in cycles.TOKEN.finditer(text):
            if found.group().startswith("/"):
                for number, line in enumerate(found.group().split("\n")):
                    if STATEMENT.match(line):
                        problems.append(f"{path}:{line_of(text, found.start()) + number}: code in a comment: {line.strip()}")
        for found in re.finditer(r"^[ \t]*#[ \t]*if[ \t]+0\b", text, re.M):
            problems.append(f"{path}:{line_of(text, found.start())}: code under #if 0")
    return problems


# Where JSON is not written by base/json, and why.
JSON_FILES = {
    "server/cli/lookup_print.c": "the writer takes twice the time, as the file says",
}
STRINGS = re.compile(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+')


def check_json(files):
    """JSON with values is made by base/json, which escapes and nests. A constant document may be a string."""
    problems = []
    for path, text in sorted(files.items()):
        if not is_code(path) or path.startswith("base/json/") or path in JSON_FILES:
            continue
        bare = without_comments(text)
        for found in STRINGS.finditer(bare):
            literal = re.sub(r'"\s*"', "", found.group())
            # "^{" is a pattern that looks for JSON.
            if re.search(r'(?<!\^\{)\\"[\w%-]+\\"\s*:', literal) and (
                    "%" in literal or literal.count("{") != literal.count("}") or re.search(r':\s*"\s*$|^",', literal)):
                problems.append(f"{path}:{line_of(bare, found.start())}: JSON in a string: use base/json/write.h")
    return problems


# Words that this project does not use in comments and messages, and what to write instead (docs/CONTRIBUTING.md, Prose).
WORDS = [
    (r"behind", "after"), (r"stands?(?! for\b| alone\b)|stood", "is"), (r"(?:re)?tells?|told|telling", "reports, says"),
    (r"lies?|lay", "is"), (r"is no (?!longer|more\b|such)[a-z]\w*", "is not a"), (r"(?:is|are) none", "is not one"),
    (r"none of", "no"), (r"whom", "which"), (r"brak(?:ed?|ing)", "limited"), (r"doors?", "route, client"),
    (r"mend(?:s|ed|ing)?", "repair"), (r"crew", "group"), (r"gladly", ""), (r"nobody", "no one, no client"),
]
# The same words in their proper use.
PROPER = [r"there (?:is|are) (?:no|none)", r"left behind", r"behind an? (?:\w+ )?proxy"]
WORD = re.compile("|".join([rf"\b{words}\b" for words in PROPER] + [rf"\b({word})\b" for word, _ in WORDS])
                  .replace(" ", r"\s+"), re.I)


def check_words(files):
    """Comments and messages use plain words."""
    problems = []
    for path, text in sorted(files.items()):
        if not is_code(path):
            continue
        for token in cycles.TOKEN.finditer(text):
            # A line of a comment may end inside of a phrase.
            for found in WORD.finditer(re.sub(r"\n[ \t]*\*", lambda end: " " * len(end.group()), token.group())):
                if not found.lastindex:
                    continue
                instead = WORDS[found.lastindex - 1][1]
                word = " ".join(found.group().split())
                problems.append(f'{path}:{line_of(text, token.start() + found.start())}: "{word}"'
                                + (f": write {instead}" if instead else ""))
    return problems


def check_own_header(files):
    """A .c file includes its own header first, so that the header cannot lack an include."""
    problems = []
    for path, text in sorted(files.items()):
        header = path[:-2] + ".h"
        if is_code(path) and path.endswith(".c") and header in files:
            found = re.search(r'^[ \t]*#[ \t]*include[ \t]+([<"][^>"]+)', without_comments(text), re.M)
            if found and (found.group(1)[0] == "<" or included(path, found.group(1)[1:]) != header):
                problems.append(f'{path}:{line_of(text, found.start())}: "{header}" is not its first include')
    return problems


CHECKS = {
    "codes": check_codes,
    "names": check_names,
    "typedefs": check_typedefs,
    "gotos": check_gotos,
    "parameters": check_parameters,
    "small_files": check_small_files,
    "old_code": check_old_code,
    "json": check_json,
    "own_header": check_own_header,
    "words": check_words,
}
