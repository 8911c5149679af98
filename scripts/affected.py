"""Which targets of a build a change touches, from what CMake knows of them (its file API) and what git says has changed."""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from steps import ROOT, configure

# A change of one of these may change anything.
EVERYTHING = re.compile(r"^(CMakeLists\.txt|CMakePresets\.json|cmake/|scripts/|test\.sh|\.ci/|tests/support/)|CMakeLists\.txt$")
# Read by people, and by a test only where a test names them.
TEXTS = re.compile(r"\.(md|yaml|html|svg|png)$|^(docs|examples)/")
# What is packed together with the program, and how that is tried.
PACKAGING = re.compile(r"^(packaging|tests/packages)/.*(?<!\.md)$")
CODE = (".h", ".cpp", ".cu", ".cuh")


@dataclass
class Target:
    kind: str  # CMake's word: EXECUTABLE, STATIC_LIBRARY, …
    folder: str
    sources: set
    needs: set


def changed_since(ref):
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")

    return sorted({path for path in git("diff", "--name-only", ref) + git("ls-files", "-o", "--exclude-standard") if path})


def targets_in(reply):
    """The targets of a build by name, from the answers of CMake's file API in a folder."""
    index = json.loads(max(reply.glob("index-*.json")).read_text())
    model = next(entry["jsonFile"] for entry in index["objects"] if entry["kind"] == "codemodel")
    answers = [json.loads((reply / entry["jsonFile"]).read_text())
               for entry in json.loads((reply / model).read_text())["configurations"][0]["targets"]]
    names = {answer["id"]: answer["name"] for answer in answers}
    return {answer["name"]: Target(kind=answer["type"], folder=answer["paths"]["source"],
                                   sources={source["path"] for source in answer.get("sources", [])},
                                   needs={names[need["id"]] for need in answer.get("dependencies", [])})
            for answer in answers}


def in_preset(preset, ref, options=()):
    """What changed since a commit, in a preset, which is configured for that."""
    outcome = configure(preset, options)
    if outcome.code:
        raise RuntimeError(f"configuring '{preset}' failed: see {outcome.log}")
    return Affected(targets_in(ROOT / "build" / preset / ".cmake/api/v1/reply"), changed_since(ref))


class Affected:
    """The targets that depend on what has changed: `name in affected`."""

    def __init__(self, targets, changed):
        self._targets = targets
        touched = set()
        for path in changed:
            owners = self._owners_of(path)
            if owners is None:
                touched = set(targets)
                break
            touched |= owners
        self._names = self._with_dependents(touched)

    def __contains__(self, name):
        return name in self._names

    def programs_below(self, names):
        """The programs among what these targets are made of that were touched."""
        wanted = set()
        for name in names:
            wanted |= {name, *self._dependencies_of(name)}
        return sorted(name for name in wanted & self._names if self._targets[name].kind == "EXECUTABLE")

    def test_pattern(self, preset):
        """A pattern for ctest: the tests of the programs that were touched."""
        listed = subprocess.run(["ctest", "--test-dir", f"build/{preset}", "--show-only=json-v1"], cwd=ROOT, check=True,
                                capture_output=True, text=True).stdout
        tests = [test["name"] for test in json.loads(listed)["tests"]
                 if any(Path(word).name in self._names for word in test.get("command", []))]
        return "^(" + "|".join(re.escape(name) for name in tests) + ")$"

    def _owners_of(self, path):
        """The targets that are made from a file; None: all of them may be."""
        owners = {name for name, target in self._targets.items() if path in target.sources}
        if owners:
            return owners
        if PACKAGING.search(path):
            return {"assay"} & set(self._targets)
        if EVERYTHING.search(path):
            return None
        if path.endswith(CODE):
            # A header that no target lists, or a file that is gone: whatever is made in its folder.
            return {name for name, target in self._targets.items() if str(Path(path).parent) == target.folder} or None
        named = {name for name, target in self._targets.items()
                 if any(_mentions(source, Path(path).name) for source in target.sources)}
        return named if named or TEXTS.search(path) else None

    def _dependencies_of(self, name):
        found, todo = set(), [name]
        while todo:
            target = self._targets.get(todo.pop())
            new = target.needs - found if target else set()
            found |= new
            todo += new
        return found

    def _with_dependents(self, names):
        touched, grown = set(names), True
        while grown:
            new = {name for name, target in self._targets.items() if name not in touched and target.needs & touched}
            touched |= new
            grown = bool(new)
        return touched


def _mentions(source, name):
    file = ROOT / source
    return file.is_file() and name in file.read_text(errors="replace")
