"""The rules for the web page (server/web/page): what keeps hostile text from becoming a script, and modules small.

Each check is a function from {path: text} to a list of "path:line: what is wrong"; test_rules.py breaks each one once.
"""
import hashlib
import re

from source import line_of

PAGE = "server/web/page/"
VENDOR = PAGE + "vendor/"
MAX_LINES = 200

# How text becomes markup or code, and what the page's policy would stop in the browser only.
MARKUP = (r"\b(innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|setHTMLUnsafe|parseFromString|createContextualFragment|"
          r"srcdoc)\b|\b(document\.write(?:ln)?|eval)\s*\(|\b(new Function)\b|(?<![\w.])(set(?:Timeout|Interval)\s*\(\s*[\"'`])|(javascript:)|"
          r"(\sstyle=\")|(<style\b)|(\son[a-z]+=\")")
ADDRESS = r"""["'`]((?:https?:)?//[\w*])"""
REQUESTS = r"(?<![\w.])(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon)\s*\("
# A browser reads the data of a language for the first: tens of ms of the first visit.
FORMATS = r"\b(Intl\.\w+|toLocale\w*String)\b"
COLOUR = r"(#[0-9a-fA-F]{3,8}\b|\b(?:rgba?|hsla?|oklch|lab)\s*\()"


def is_own(path):
    return path.startswith(PAGE) and not path.startswith(VENDOR) and path.endswith((".js", ".html", ".css"))


def without_comments(text):
    """Comments as blanks, so that the places stay: an example in a comment loads nothing."""
    return re.sub(r"/\*.*?\*/|(?<![:\"'`\w])//[^\n]*", lambda found: re.sub(r"[^\n]", " ", found.group()), text, flags=re.S)


def places(text, pattern):
    return [(line_of(text, found.start()), next(filter(None, found.groups())).strip()) for found in re.finditer(pattern, text)]


def check_page(files):
    """Text stays text, requests go to api.js and to this server, colours are tokens, modules are small."""
    problems = []
    for path, whole in sorted(files.items()):
        if not is_own(path):
            continue
        text = without_comments(whole)
        problems += [f"{path}:{line}: {what} can make a script of a text" for line, what in places(text, MARKUP)]
        if path.endswith(".css"):
            problems += [f"{path}:{line}: a colour outside style/tokens.css: {what}" for line, what in places(text, COLOUR)
                         if path != PAGE + "style/tokens.css"]
            continue
        lines = text.split("\n")
        # An example of what a user may write is no address that is used.
        problems += [f"{path}:{line}: the page uses nothing of other hosts: {what}" for line, what in places(text, ADDRESS)
                     if "placeholder=" not in lines[line - 1]]
        if path != PAGE + "lib/api.js":
            problems += [f"{path}:{line}: {what}() is called in lib/api.js only" for line, what in places(text, REQUESTS)]
        problems += [f"{path}:{line}: {what} is slow; lib/format.js and lib/time.js write numbers and times" for line, what in places(text, FORMATS)]
        if len(lines) - 1 > MAX_LINES:
            problems.append(f"{path}:1: {len(lines) - 1} lines, at most {MAX_LINES}: split it")
    return problems + check_vendor(files)


def check_vendor(files):
    """The libraries are those whose checksums are listed."""
    listed = dict(re.findall(r"^\| `([\w.]+)` \|.*\| `([0-9a-f]{64})` \|$", files.get(VENDOR + "README.md", ""), re.M))
    there = {path[len(VENDOR):]: text for path, text in files.items() if path.startswith(VENDOR) and path.endswith((".mjs", ".js"))}
    problems = [f"{VENDOR}{name}:1: not in the list of README.md" for name in sorted(set(there) - set(listed))]
    problems += [f"{VENDOR}README.md:1: there is no {name}" for name in sorted(set(listed) - set(there)) if there]
    for name in sorted(set(there) & set(listed)):
        if hashlib.sha256(there[name].encode()).hexdigest() != listed[name]:
            problems.append(f"{VENDOR}{name}:1: its SHA-256 is not the one of README.md")
    return problems


CHECKS = {"page": check_page}
