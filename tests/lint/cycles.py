#!/usr/bin/env python3
"""Finds cycles among the files of base, symbolicator, storage and server, by reading their text.

    cycles.py [--edges] [--modules] [TREE]

Two graphs: headers that include headers, and .c files that use functions or variables of other .c files. A function
counts as used where its name occurs outside comments and strings, so a file that only takes its address uses it too.
Each group of files in which every file reaches every other one is one cycle. Exit status 1 if there is one.
"""
import argparse
import pathlib
import re
import sys
from collections import namedtuple

from source import included

FOLDERS = ("base/", "symbolicator/", "storage/", "server/", "client/")
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.M)
# A definition has its name at column 0, below its return type (.clang-format).
FUNCTION = re.compile(r"^([A-Za-z_][^\n;{}=#]*)\n([A-Za-z_]\w*)\(", re.M)
VARIABLE = re.compile(r"^(?!typedef\b|extern\b|return\b|goto\b)([A-Za-z_][\w \t*]*[\s*])(\w+)(?:\[[^\]\n]*\])*[ \t]*(?:=|;)", re.M)
# Names of members and of types are not uses of a function.
USE = re.compile(r"(?<![\w.])(?<!->)(?<!struct )(?<!enum )(?<!union )[A-Za-z_]\w*")
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\\\n]|\\.|\\\n)*)", re.M)
INLINE = re.compile(r"^static inline\b[^;{}]*?\b(\w+)\([^;{}]*\)\n\{(.*?)^\}", re.M | re.S)
TYPES = r"struct \w+|enum \w+|char|bool|int|unsigned|long|double|size_t|u?int(?:8|16|32|64)_t|uintptr_t"

Cycle = namedtuple("Cycle", "files steps")  # all files of the group; the shortest way round: [(file, names, next file)]


def bare(text):
    """The text with the contents of comments and strings blanked, lines kept."""
    def blank(found):
        word = found.group()
        if word[0] in "\"'":
            return word[0] + " " * (len(word) - 2) + word[-1]
        return re.sub(r"[^\n]", " ", word)
    return TOKEN.sub(blank, text)


def includes_of(text):
    # Comments go, strings stay: an include is one.
    return INCLUDE.findall(re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S))


def definitions(text):
    """(names that other files can use, names that they cannot) of a bare .c file."""
    public, private = set(), set()
    for head, name in FUNCTION.findall(text):
        (private if re.search(r"\bstatic\b", head) else public).add(name)
    for head, name in VARIABLE.findall(text):
        if head.split()[:-1] or head.split()[0] not in ("struct", "enum", "union"):
            (private if re.search(r"\bstatic\b", head) else public).add(name)
    return public, private


class Tree:
    """What the files include, define and use. `files` is {path: text}."""

    def __init__(self, files):
        self.files = {path: text for path, text in files.items() if path.startswith(FOLDERS) and path[-2:] in (".c", ".h")}
        self.includes = {path: [to for to in (included(path, name) for name in includes_of(text)) if to in self.files]
                         for path, text in self.files.items()}
        self.bare = {path: bare(text) for path, text in self.files.items()}
        self.public, self.private, self.definers = {}, {}, {}
        for path in sorted(self.files):
            if path.endswith(".c"):
                self.public[path], self.private[path] = definitions(self.bare[path])
                for name in self.public[path]:
                    # Two files may define the same function for different builds: a user uses both.
                    self.definers.setdefault(name, []).append(path)
        self._find_declarations()
        self._seen = {}
        self.calls = self._call_graph()

    def _find_declarations(self):
        """Which headers make a name visible, and what macros and inline functions in headers use."""
        self.declared, self.hidden = {}, {}
        for path, text in self.bare.items():
            if not path.endswith(".h"):
                continue
            for name in set(USE.findall(text)):
                self.declared.setdefault(name, set()).add(path)
            for name, body in MACRO.findall(text) + INLINE.findall(text):
                self.hidden.setdefault(name, set()).update(USE.findall(body))

    def seen_by(self, path):
        """The headers that a file includes, directly or not."""
        if path not in self._seen:
            seen, todo = set(), [path]
            while todo:
                for header in self.includes[todo.pop()]:
                    if header not in seen:
                        seen.add(header)
                        todo.append(header)
            self._seen[path] = seen
        return self._seen[path]

    def header_graph(self):
        return {path: {to: [] for to in targets if to.endswith(".h")}
                for path, targets in self.includes.items() if path.endswith(".h")}

    def _call_graph(self):
        """{file: {file that it uses: [names]}}"""
        graph = {path: {} for path in self.public}
        for path, edges in graph.items():
            words = set(USE.findall(self.bare[path]))
            todo = list(words)
            while todo:
                more = self.hidden.get(todo.pop(), set()) - words
                words |= more
                todo += more
            seen = self.seen_by(path)
            for word in sorted(words & set(self.definers) - self.public[path] - self.private[path]):
                # A name that no included header declares, or that has a type here, is a local variable.
                if self.declared.get(word, set()) & seen and not re.search(
                        rf"\b(?:{TYPES})\b(?:[ *]|const\b)+{word}\b(?!\()", self.bare[path]):
                    for definer in self.definers[word]:
                        edges.setdefault(definer, []).append(word)
        return graph


def components(graph):
    """The strongly connected components of more than one node, or of one that reaches itself (Tarjan, iterative)."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    for root in sorted(graph):
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(sorted(graph.get(target, ())))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on_stack.discard(group[-1])
                    if len(group) > 1 or node in graph.get(node, ()):
                        found.append(sorted(group))
    return sorted(found)


def shortest_way_round(graph, group):
    """The shortest closed walk inside a component, as steps."""
    best = None
    for start in sorted(group):
        came_from, todo = {}, [start]
        while todo and start not in came_from:
            node = todo.pop(0)
            for target in sorted(graph[node]):
                if target in group and target not in came_from:
                    came_from[target] = node
                    todo.append(target)
        way = [start]
        while len(way) == 1 or way[-1] != start:
            way.append(came_from[way[-1]])
        if not best or len(way) < len(best):
            best = way[::-1]
    return [(a, graph[a][b], b) for a, b in zip(best, best[1:])]


def cycles_of(graph):
    return [Cycle(group, shortest_way_round(graph, set(group))) for group in components(graph)]


def chain(cycle):
    text = cycle.steps[0][0]
    for _, names, to in cycle.steps:
        text += f" -> {to}" + (f" ({names[0]})" if names else "")
    return text


def find(tree):
    """(kind, cycle) of each cycle among files."""
    return [("include", cycle) for cycle in cycles_of(tree.header_graph())] + \
        [("call", cycle) for cycle in cycles_of(tree.calls)]


def module_graph(tree, parent):
    """{module: {module it uses}} in the folder `parent`: its folders and, one by one, its own files.

    What is outside of it is named by its first folder, with a slash.
    """
    def node(path):
        return path[len(parent):].split("/")[0] if path.startswith(parent) else path.split("/")[0] + "/"
    graph = {}
    for edges in (tree.includes, tree.calls):
        for path, targets in edges.items():
            if path.startswith(parent):
                graph.setdefault(node(path), {}).update({node(to): [] for to in targets if node(to) != node(path)})
    return graph


def parents_of(tree):
    """The folders that have folders, "" for the top of the tree."""
    return sorted({""} | {"/".join(path.split("/")[:depth]) + "/" for path in tree.files
                          for depth in range(1, path.count("/"))})


def module_cycles(tree):
    """(parent, modules) of each group of modules in which every one reaches every other one."""
    # A group of files only is a call or include cycle.
    return [(parent, group) for parent in parents_of(tree) for group in components(module_graph(tree, parent))
            if not all(module.endswith((".c", ".h")) for module in group)]


def print_modules(tree):
    def name(module):
        return "(files)" if module.endswith((".c", ".h")) else module
    for parent in parents_of(tree):
        graph = {}
        for module, targets in module_graph(tree, parent).items():
            graph.setdefault(name(module), set()).update(name(to) for to in targets)
        n_arrows = sum(to in graph and to != module for module in graph for to in graph[module])
        groups = [group for folder, group in module_cycles(tree) if folder == parent]
        print(f"{parent or 'top level'}: {len(graph)} modules, {n_arrows} arrows among them, {len(groups)} cycles")
        for module in sorted(graph):
            print(f"    {module:<14} -> {' '.join(sorted(graph[module] - {module})) or '-'}")
        for group in groups:
            print(f"    cycle: {' '.join(group)}")
        print()


def read_tree(top):
    top = pathlib.Path(top)
    return {str(path.relative_to(top)): path.read_text(errors="replace")
            for folder in FOLDERS for path in (top / folder).rglob("*.[ch]")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", action="store_true", help="print every use inside each cycle")
    parser.add_argument("--modules", action="store_true", help="print which folder uses which instead")
    parser.add_argument("tree", nargs="?", default=".")
    args = parser.parse_args()
    tree = Tree(read_tree(args.tree))
    if args.modules:
        print_modules(tree)
        return 0
    found = find(tree)
    for kind, cycle in found:
        print(f"{kind} cycle of {len(cycle.files)} files: {chain(cycle)}")
        for path in cycle.files:
            print(f"    {path}")
            for to, names in sorted(tree.calls.get(path, {}).items()) if args.edges and kind == "call" else ():
                if to in cycle.files:
                    print(f"        -> {to}: {' '.join(names)}")
    print(f"cycles: {len(found)}, files in them: {sum(len(cycle.files) for _, cycle in found)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
