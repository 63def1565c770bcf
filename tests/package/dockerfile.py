"""The steps of docker/Dockerfile, carried out in folders: what a container engine would make, where there is none.

Only the instructions that the file uses are known; another one is an error. A stage that begins with debian:RELEASE-slim
begins with that release in a folder (root.py), `scratch` with an empty one.
"""
import json
import os
import re
import shlex
import subprocess

from root import ENVIRONMENT, SOURCE, Root, base, run, say

FILE = os.path.join(SOURCE, "docker", "Dockerfile")


def instructions():
    """(word, rest) of each; lines that end with a backslash go on."""
    with open(FILE, encoding="utf-8") as file:
        text = re.sub(r"(?m)^\s*#.*\n", "", file.read())
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word, rest.strip()


class Image:
    """What the engine knows beside the files."""

    def __init__(self, root):
        self.root, self.environment, self.folder = root, dict(ENVIRONMENT), "/"
        self.user, self.volumes, self.health, self.entrypoint, self.command = "0:0", [], "", [], []

    def words(self):
        return self.entrypoint + self.command


def context_files():
    """What the folder's files are, without those that .dockerignore names."""
    with open(os.path.join(SOURCE, ".dockerignore"), encoding="utf-8") as file:
        ignored = tuple(f"{line.strip()}/" for line in file if line.strip())
    listed = run("git", "-C", SOURCE, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    return [name for name in listed if not name.startswith(ignored) and os.path.lexists(os.path.join(SOURCE, name))]


def copy(image, stages, rest):
    words = shlex.split(rest)
    source = SOURCE
    if words[0].startswith("--from="):
        source = stages[words.pop(0)[7:]].root.path
    elif words[0].startswith("--"):
        raise AssertionError(f"COPY {words[0]}: not known here")
    *names, target = words
    target = image.root.inside(os.path.normpath(os.path.join(image.folder, target)))
    os.makedirs(target, exist_ok=True)
    for name in names:
        if source == SOURCE:
            inside = name.rstrip("/") + "/" if name != "." else ""
            files = [path[len(inside):] for path in context_files() if path.startswith(inside)]
            subprocess.run(["cp", "--parents", "--no-dereference", "--preserve=mode,timestamps", "--target-directory", target, "--",
                            *files], cwd=os.path.join(source, inside), check=True)
        else:
            assert name.endswith("/"), f"COPY of a file from a stage is not known here: {name}"
            run("cp", "-a", os.path.join(source, name.lstrip("/")) + ".", target)


def step(image, stages, word, rest):
    if word == "RUN":
        run(*image.root.command("sh", "-c", f"cd {image.folder} && {rest}", network=True, environment=image.environment),
            timeout=7200)
    elif word == "COPY":
        copy(image, stages, rest)
    elif word == "WORKDIR":
        image.folder = rest
        os.makedirs(image.root.inside(rest), exist_ok=True)
    elif word == "ENV":
        image.environment.update(pair.split("=", 1) for pair in shlex.split(rest))
    elif word == "USER":
        image.user = rest
    elif word == "VOLUME":
        image.volumes.append(rest)
    elif word == "HEALTHCHECK":
        image.health = rest.partition("CMD ")[2]
    elif word == "ENTRYPOINT":
        image.entrypoint = json.loads(rest)
    elif word == "CMD":
        image.command = json.loads(rest)
    elif word not in ("EXPOSE", "STOPSIGNAL"):
        raise AssertionError(f"{word} is not known here")


def build(made_elsewhere=None):
    """The last stage. With the path of its files, made by an engine, nothing is built."""
    stages, image = {}, None
    for word, rest in instructions():
        if word == "FROM":
            origin, _, name = rest.partition(" AS ")
            release = re.fullmatch(r"debian:(\w+)-slim", origin)
            assert release or origin == "scratch", f"FROM {origin}: not known here"
            is_made = made_elsewhere is not None
            image = Image(Root(base(release[1], "slim", "minbase") if release and not is_made else None))
            stages[name or "last"] = image
            continue
        if made_elsewhere is None or word not in ("RUN", "COPY", "WORKDIR"):
            say(f"{word} {rest if len(rest) < 90 else rest[:87] + '...'}")
            step(image, stages, word, rest)
        elif word == "WORKDIR":
            image.folder = rest
    if made_elsewhere:
        run("cp", "-a", made_elsewhere.rstrip("/") + "/.", image.root.path)
    for name, stage in stages.items():
        if stage is not image:
            stage.root.__exit__()
    return image
