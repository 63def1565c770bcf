"""What all checks read: which files are code, their text without comments, where a pattern occurs."""
import posixpath
import re

CODE = ("base/", "symbolicator/", "storage/", "server/", "client/")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def is_code(path):
    return path.startswith(CODE) and path.endswith((".c", ".h"))


def included(path, target):
    """The file that an include names: a path from the top of the tree. client/ is also copied into apps, so what is there
    includes by paths from its own folder."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) if path.startswith("client/") else target


def without_comments(text):
    """The text with comments blanked out, line numbers kept."""
    return COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def matches(files, pattern, wanted=is_code):
    """(path, line number, match) of every match outside comments."""
    for path, text in sorted(files.items()):
        if wanted(path):
            bare = without_comments(text)
            for found in re.finditer(pattern, bare, re.M):
                yield path, line_of(bare, found.start()), found
