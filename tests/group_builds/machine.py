"""Builds, runs and symbolicates the labelled crashes: one report for each build, way and format."""
import json
import pathlib
import shutil
import subprocess

import formats
import labels

HERE = pathlib.Path(__file__).resolve().parent
SLIDE = "4f8000"

# name: arch, flags of the compiler, hidden names
BUILDS = {
    "arm64-O0-dw4": ("arm64", "-O0 -gdwarf-4"),
    "arm64-O1-dw5": ("arm64", "-O1 -gdwarf-5"),
    "arm64-Os-dw4": ("arm64", "-Os -gdwarf-4"),
    "arm64-O2-dw5": ("arm64", "-O2 -gdwarf-5"),
    "arm64-O3-dw4": ("arm64", "-O3 -gdwarf-4"),
    "arm64-Oz-dw5": ("arm64", "-Oz -gdwarf-5"),
    "arm64-O2-dw4-split": ("arm64", "-O2 -gdwarf-4 -mllvm -hot-cold-split=true"),
    "arm64-O2-dw5-lto": ("arm64", "-O2 -gdwarf-5 -flto"),
    "arm64-Os-dw4-hidden": ("arm64", "-Os -gdwarf-4", "hidden"),
    "arm64-O2-dw4-leaf": ("arm64", "-O2 -gdwarf-4 -momit-leaf-frame-pointer"),
    "x86_64-O0-dw5": ("x86_64", "-O0 -gdwarf-5"),
    "x86_64-O1-dw4": ("x86_64", "-O1 -gdwarf-4"),
    "x86_64-Os-dw5": ("x86_64", "-Os -gdwarf-5"),
    "x86_64-O2-dw4": ("x86_64", "-O2 -gdwarf-4"),
    "x86_64-O2-dw5-split": ("x86_64", "-O2 -gdwarf-5 -mllvm -hot-cold-split=true"),
    "x86_64-O3-dw5-lto": ("x86_64", "-O3 -gdwarf-5 -flto"),
}
PROGRAMS = {"c": "c.c", "cxx": "cxx.cpp", "objc": "objc.m", "swift": "swift.c"}


def ways(program):
    """The ways of a program, as its source lists them."""
    text = (HERE / "programs" / PROGRAMS[program]).read_text()
    return [part.partition(")")[0] for part in text.split("WAY(")[1:]]


def build_system(folder):
    for arch in ("arm64", "x86_64"):
        subprocess.run(["sh", str(HERE / "build.sh"), str(folder / f"{arch}-system"), arch, "system"], check=True)


def build(folder, name):
    arch, flags, *hidden = BUILDS[name]
    done = subprocess.run(["sh", str(HERE / "build.sh"), str(folder / name), arch, flags, *hidden], capture_output=True,
                          text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr}")
    if hidden:
        add_map(folder / name)


def uuid_of(path):
    done = subprocess.run(["llvm-dwarfdump-19", "--uuid", str(path)], capture_output=True, text=True, check=True)
    return done.stdout.split()[1].upper()


def add_map(folder):
    """A folder for each program as in an archive: the dSYM, and the map of the hidden names."""
    text = "BCSymbolMap Version: 2.0\n" + (folder / "names").read_text()
    for program in PROGRAMS:
        archive = folder / f"{program}.archive"
        shutil.copytree(folder / f"{program}.dSYM", archive / f"{program}.dSYM", dirs_exist_ok=True)
        (archive / "BCSymbolMaps").mkdir(exist_ok=True)
        (archive / "BCSymbolMaps" / f"{uuid_of(folder / program)}.bcsymbolmap").write_text(text)


def run(loaders, folder, name, program, way):
    """What the loader saw; the images as they are on a device."""
    arch = BUILDS[name][0]
    system = folder / f"{arch}-system"
    dump = folder / name / f"{program}.{way}.dump"
    command = [str(loaders / f"loader-{arch}"), "--slide", SLIDE, "--library", str(system / "libsystem_c.dylib"),
               "--library", str(system / "UIKitCore"), "--dump", str(dump), str(folder / name / program), way]
    if arch == "arm64":
        command.insert(0, "qemu-aarch64")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if not dump.exists():
        return None, f"no crash, status {done.returncode}: {done.stderr[:200]}"
    report = json.loads(dump.read_text())
    dump.unlink()
    paths = {"libsystem_c.dylib": "/usr/lib/system/libsystem_c.dylib",
             "UIKitCore": "/System/Library/PrivateFrameworks/UIKitCore.framework/UIKitCore"}
    for image in report["images"]:
        image["path"] = paths.get(image["name"], "/private/var/containers/Bundle/Application/"
                                  "7C1D0F0A-3B1B-4E0D-9A67-0B8E7C0D4A11/Shop.app/Shop")
        if image["name"] not in paths:
            image["name"] = "Shop"
    report["images"].sort(key=lambda image: image["name"] != "Shop")
    report["app"] = {"id": "com.acme.shop", "name": "Shop", "version": "1.0", "build": "7"}
    report["os"] = {"name": "iOS", "version": "18.1", "build": "22B83"}
    report["timestamp"] = "2026-01-15T09:30:12.345Z"
    return report, None


def symbolicate(binary, paths, *symbols):
    command = [str(binary), "symbolicate", "--json", *map(str, paths), *(f"--dsym={path}" for path in symbols)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:6])}: {done.stderr[:500]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def symbols_of(folder, name, program):
    archive = folder / name / f"{program}.archive"
    return [archive if archive.exists() else folder / name / f"{program}.dSYM"]


def make(binary, loaders, folder, name, kinds):
    """Write the reports of a build; returns what could not be made."""
    problems = []
    system = folder / f"{BUILDS[name][0]}-system"
    for program in PROGRAMS:
        made = []
        for way in ways(program):
            report, problem = run(loaders, folder, name, program, way)
            if problem:
                problems.append(f"{name} {program} {way}: {problem}")
                continue
            path = folder / name / f"{program}.{way}.dumped"
            path.write_text(json.dumps(report))
            made.append((way, report, path))
        chains = symbolicate(binary, [path for _, _, path in made], *symbols_of(folder, name, program),
                             folder / name / program, system)
        for (way, report, path), chain in zip(made, chains):
            path.unlink()
            crash = formats.Crash(program, way, report, chain, name)
            for kind in kinds:
                body = formats.FORMATS[kind](crash, binary)
                if body is not None:
                    to = folder / name / f"{program}.{way}.{kind}"
                    to.write_bytes(body if isinstance(body, bytes) else body.encode())
    return problems


def collect(binary, folder, name, kinds):
    """The reports of a build with their issues: (build, program, way, format, symbolicated report)."""
    rows = []
    for program in PROGRAMS:
        symbols = symbols_of(folder, name, program)
        for whole in (False, True):
            found = [(way, kind) for way in ways(program) for kind in kinds if (kind == "full") == whole
                     and (folder / name / f"{program}.{way}.{kind}").exists()]
            # A stack is unwound with the program, too.
            more = [folder / name / program] if whole else []
            paths = [folder / name / f"{program}.{way}.{kind}" for way, kind in found]
            results = symbolicate(binary, paths, *symbols, *more) if paths else []
            rows += [(name, program, *key, result) for key, result in zip(found, results)]
    return rows
