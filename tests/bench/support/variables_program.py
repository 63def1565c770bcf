"""Programs that crash 30 calls deep with a large dSYM, for bench/variables.py: their sources, building and running them.

A shape says how the code is spread over units, since that decides what finding a function costs:

    units   C, 280 units, as most apps are; each link of the chain of calls is in a unit of its own
    one     the same C in one unit, as an amalgamation or a link with LTO leaves it
    cxx     C++ in one unit: namespaces, classes and methods

The chain is compiled with -O1, so its variables are in location lists and registers. The functions around it only make the
dSYM large; they are not optimised, and have locals without code, since compilers take longer for code than for DWARF.
"""
import hashlib
import json
import os
import pathlib
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[3]
VARIABLES, LOADER = TOP / "tests" / "variables", TOP / "tests" / "loader"
TOOLS = ["clang-19", "ld64.lld-19", "dsymutil-19", "gcc"]
CHAIN, STRUCTS, GLOBAL, FILLERS, LOCALS, SLIDE = 30, 40, 4, 60, 84, "4f8000"
SHAPES = {"units": 280, "one": 270, "cxx": 270}  # parts: about 30 MB of dSYM
FLAGS = ["-target", "x86_64-apple-macos11.0", "-g", "-O1", "-fno-builtin", "-fno-stack-protector", "-fno-exceptions", "-w"]
FILLER = "__attribute__((noinline, optnone))"
LINK = "__attribute__((noinline))"
HEAD = '#define ESCAPE(p) __asm__ volatile("" : : "r"(p) : "memory")\n'
LOCAL_LIST = "".join(f" {('int', 'long', 'double', 'char *')[i % 4]} local{i};" for i in range(LOCALS))


def c_part(n):
    """Structures, functions that only make it large, and one link of the chain of calls."""
    lines = [f"static int count{n} = {n};"]
    for i in range(STRUCTS):
        lines.append(f"struct s{n}_{i} {{ int a; double b; const char *c; struct s{n}_{max(i - 1, 0)} *next; "
                     f"unsigned d : 3, e : 9; enum {{ E{n}_{i}_A, E{n}_{i}_B = 7 }} k; char name[12]; int m[2][3]; }};")
        if i % GLOBAL == 0:
            lines.append(f"static struct s{n}_{i} global{n}_{i};")
    for i in range(FILLERS):
        kind = f"struct s{n}_{i % STRUCTS}"
        lines.append(f"{FILLER} static int fill{n}_{i}({kind} *p, int x, long y, double z) {{{LOCAL_LIST} {kind} copy = *p; "
                     f"for (int i = 0; i < x; i++) {{ int q = x + i; count{n} += q; }} "
                     f"global{n}_{i % STRUCTS // GLOBAL * GLOBAL}.a += x; return (int)(y + (int)z + copy.a); }}")
    calls = " + ".join(f"fill{n}_{i}(p, x, x * 2, 1.5)" for i in range(FILLERS))
    lines.append(f"{FILLER} int all{n}(void *p, int x) {{ return {calls}; }}")
    if n < CHAIN:
        lines.append(f"int chain{n + 1}(int, long, const char *);\n"
                     f"{LINK} int chain{n}(int a, long b, const char *name) {{ "
                     f'struct s{n}_5 one = {{a, b * 1.5, name, 0, 3, 100, E{n}_5_B, "hello"}}; '
                     f"struct s{n}_6 two = {{a + 1, b, name, &one}}; {link_body(n)} }}")
    return "\n".join(lines) + "\n"


def link_body(n, call="chain"):
    last = n == CHAIN - 1
    return (f"int v = a * 3, w = v + {n}; double d = b / 2.0; "
            f'char text[20] = "text"; long list[5] = {{a, b, v, w, {n}}}; unsigned char raw[4] = {{1, 2, 3, 4}}; '
            f"ESCAPE(&one); ESCAPE(&two); ESCAPE(text); ESCAPE(list); ESCAPE(raw); ESCAPE(&d); count{n}++; "
            + ("int r = *(volatile int *)(long)0;" if last else f"int r = {call}{n + 1}(v, b + w, name);")
            + " ESCAPE(&one); return r + v + w + (int)d;")


def cxx_part(n):
    """A namespace of classes whose methods only make it large, and one link of the chain, a method too."""
    lines = [f"namespace part{n} {{", "template <typename T> struct Pair { T first; T second; };", f"static int count{n} = {n};"]
    for i in range(STRUCTS):
        lines.append(f"class Shape{i} {{ public: enum class Kind {{ A, B = 7 }}; int a; double b; const char *c; "
                     f"Shape{max(i - 1, 0)} *next; unsigned d : 3, e : 9; Kind kind; Pair<long> pair; char name[12]; "
                     f"int area(int x, long y, double z) const; static int count(const Shape{i} &other); "
                     f"private: int m[2][3]; }};")
        if i % GLOBAL == 0:
            lines.append(f"static Shape{i} global{i};")
    for i in range(FILLERS):
        kind = f"Shape{i % STRUCTS}"
        head = f"{FILLER} int {kind}::area(int x, long y, double z) const {{ const {kind} &other = *this;" if i < STRUCTS else \
               f"{FILLER} static int fill{i}(const {kind} &other, int x, long y, double z) {{"
        lines.append(f"{head}{LOCAL_LIST} {kind} copy = other; for (int i = 0; i < x; i++) {{ int q = x + i; count{n} += q; }} "
                     f"global{i % STRUCTS // GLOBAL * GLOBAL}.a += x; return (int)(y + (int)z + copy.a); }}")
    calls = " + ".join(f"((Shape{i} *)p)->area(x, x * 2, 1.5)" if i < STRUCTS else
                       f"fill{i}(*(Shape{i % STRUCTS} *)p, x, x * 2, 1.5)" for i in range(FILLERS))
    lines.append(f"{FILLER} int all(void *p, int x) {{ return {calls}; }}\n}}")
    if n < CHAIN:
        lines.append(f"struct Link{n} {{ int number; Link{n} *self; int step(int a, long b, const char *name); }};")
    return "\n".join(lines) + "\n"


def cxx_links():
    """From the last to the first, as each calls the next."""
    lines = []
    for n in range(CHAIN - 1, -1, -1):
        call = "" if n == CHAIN - 1 else f"static int next{n + 1}(int a, long b, const char *name) {{ Link{n + 1} link = {{{n}, &link}}; " \
                                         f"ESCAPE(&link); return link.step(a, b, name); }}\n"
        lines.append(f"{call}{LINK} int Link{n}::step(int a, long b, const char *name) {{ using namespace part{n}; "
                     f'Shape5 one = {{}}; one.a = a; one.c = name; Shape6 two = {{}}; two.next = &one; Pair<int> pair = {{a, number}}; '
                     f"ESCAPE(&pair); {link_body(n, 'next')} }}")
    lines.append(f"int chain0(int a, long b, const char *name) {{ Link0 link = {{1, &link}}; ESCAPE(&link); return link.step(a, b, name) + 1; }}")
    return "\n".join(lines) + "\n"


def main_source(calls, declarations):
    return (f"{declarations}int (*const table[])(void *, int) = {{{calls}}};\n"
            "int main(int n, char **v) { return n > 5 ? table[n](v, n) : chain0(n + 1, 7, \"the name\"); }\n")


def sources(shape, units):
    """{name of a file: its text}"""
    numbers = range(units)
    if shape == "cxx":
        names = ", ".join(f"all{n}" for n in numbers)
        wrappers = "".join(f"int all{n}(void *p, int x) {{ return part{n}::all(p, x); }}\n" for n in numbers)
        parts = "".join(cxx_part(n) for n in numbers)
        return {"one.cpp": HEAD + parts + cxx_links() + wrappers + main_source(names, "")}
    names = ", ".join(f"all{n}" for n in numbers)
    declared = "".join(f"int all{n}(void *, int);\n" for n in numbers) + "int chain0(int, long, const char *);\n"
    if shape == "one":
        return {"one.c": HEAD + "".join(c_part(n) for n in numbers) + main_source(names, declared)}
    return {**{f"unit{n}.c": HEAD + c_part(n) for n in numbers}, "main.c": main_source(names, declared)}


def run(argv, **options):
    subprocess.run([str(word) for word in argv], check=True, **options)


def make(folder, shape):
    """The folder of the program, its dSYM, its report and its dump; made unless it is there and of this source."""
    texts = sources(shape, SHAPES[shape])
    key = hashlib.sha256(json.dumps([FLAGS, texts]).encode()).hexdigest()
    work, stamp = folder / shape, folder / shape / "made"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == key:
        return work
    objects = work / "objects"
    objects.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    for name, text in texts.items():
        (objects / name).write_text(text, encoding="utf-8")
    names = sorted(texts)
    run(["xargs", "-P", os.cpu_count() or 1, "-n", 8, "clang-19", *FLAGS, "-c"], input="\n".join(names), text=True, cwd=objects)
    run(["ld64.lld-19", "-arch", "x86_64", "-platform_version", "macos", "11.0", "11.0", "-o", work / "crash",
         LOADER / "libSystem.tbd", *(objects / f"{pathlib.Path(name).stem}.o" for name in names)])
    run(["dsymutil-19", work / "crash", "-o", work / "crash.dSYM"])
    for path in objects.iterdir():
        path.unlink()
    run(["gcc", "-std=gnu11", "-O1", "-fno-omit-frame-pointer", "-w", "-o", work / "loader", *sorted(LOADER.glob("*.c")), "-lpthread"])
    subprocess.run([work / "loader", "--slide", SLIDE, "--dump", work / "report.json", work / "crash"], capture_output=True, check=False)
    with open(work / "dump", "w", encoding="utf-8") as file:
        run([VARIABLES / "make.py", "dump", work / "report.json"], stdout=file)
    run([VARIABLES / "core.py", work / "report.json", work / "core"])
    stamp.write_text(key, encoding="utf-8")
    return work


def symbols(work):
    return work / "crash.dSYM/Contents/Resources/DWARF/crash"
