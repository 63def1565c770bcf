"""The stages of the corpus: which dSYMs each has, and making those that are not there."""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent

# Folders of a stage, the name that make_corpus.sh gives it and its initial; files whose bundle holds
# one of the words in `without` are no part of it (other architectures, fat files, types merged).
STAGES = {
    "small": {"folders": ("small", "S"), "without": ("fat", "x86_64")},
    "many": {"folders": ("many", "N"), "without": ()},
    "middle": {"folders": ("middle", "M"), "without": ()},
    "large": {"folders": ("large", "L"), "without": ("odr",)},
}
BY_DEFAULT = ("small", "many")


class Subject:
    """One symbol file to measure."""

    def __init__(self, stage, name, path):
        self.stage, self.name, self.path = stage, name, path


def find(root, stage):
    """The stage's files, none where it has not been made."""
    ret = []
    for folder in STAGES[stage]["folders"]:
        for bundle in sorted((root / folder).glob("*.dSYM")):
            if bundle.name.endswith(".part.dSYM") or any(word in bundle.name for word in STAGES[stage]["without"]):
                continue
            for path in sorted((bundle / "Contents/Resources/DWARF").iterdir()):
                ret.append(Subject(stage, bundle.name.removesuffix(".dSYM"), path))
        if ret:
            break
    # make_corpus.sh makes DWARF 4 before 5: one alone means that it was interrupted.
    return ret if len(ret) > 1 or stage == "middle" else []


def make(root, stage):
    subprocess.run([HERE / "make_corpus.sh", stage, root], check=True, stdout=sys.stderr)
