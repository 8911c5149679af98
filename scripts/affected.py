"""Which targets of a build a change touches, from what CMake knows of them (its file API) and what git says has changed."""

import json
import re
import subprocess
from pathlib import Path

from steps import ROOT

# A change of one of these may change anything.
EVERYTHING = re.compile(r"^(CMakeLists\.txt|CMakePresets\.json|cmake/|scripts/|test\.sh|\.ci/|tests/CMakeLists|tests/support/)|/CMakeLists\.txt$")
# Read by people, and by a test only where a test names them.
TEXTS = re.compile(r"\.(md|yaml|html|svg|png)$|^(docs|examples|packaging)/")


def changed_since(ref):
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")

    return sorted({path for path in git("diff", "--name-only", ref) + git("ls-files", "-o", "--exclude-standard") if path})


class Affected:
    """The targets of a preset that depend on what has changed since a commit; `name in affected`."""

    def __init__(self, preset, ref, options=()):
        self._preset = preset
        self._configure(options)
        self._targets = self._read_targets()
        self._all = False
        names = set()
        for path in changed_since(ref):
            names |= self._owners_of(path)
        self._names = set(self._targets) if self._all else self._with_dependents(names)

    def __contains__(self, name):
        return name in self._names

    def targets_of(self, suite):
        """What there is to build for the suite: those of its programs that were touched."""
        wanted = set()
        for name in suite.targets:
            wanted |= {name, *self._dependencies_of(name)}
        return sorted(name for name in wanted & self._names if self._targets[name]["type"] == "EXECUTABLE")

    def test_pattern(self):
        """A pattern for ctest: the tests of the programs that were touched."""
        listed = subprocess.run(["ctest", "--test-dir", f"build/{self._preset}", "--show-only=json-v1"], cwd=ROOT, check=True,
                                capture_output=True, text=True).stdout
        tests = [test["name"] for test in json.loads(listed)["tests"]
                 if any(Path(word).name in self._names for word in test.get("command", []))]
        return "^(" + "|".join(re.escape(name) for name in tests) + ")$"

    def _configure(self, options):
        query = ROOT / "build" / self._preset / ".cmake/api/v1/query/codemodel-v2"
        query.parent.mkdir(parents=True, exist_ok=True)
        query.touch()
        subprocess.run(["cmake", "--preset", self._preset, *options], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)

    def _read_targets(self):
        reply = ROOT / "build" / self._preset / ".cmake/api/v1/reply"
        index = json.loads(max(reply.glob("index-*.json")).read_text())
        model = next(entry["jsonFile"] for entry in index["objects"] if entry["kind"] == "codemodel")
        targets = {}
        by_id = {}
        for entry in json.loads((reply / model).read_text())["configurations"][0]["targets"]:
            target = json.loads((reply / entry["jsonFile"]).read_text())
            by_id[target["id"]] = target["name"]
            targets[target["name"]] = {
                "type": target["type"],
                "folder": target["paths"]["source"],
                "sources": {source["path"] for source in target.get("sources", [])},
                "needs": [need["id"] for need in target.get("dependencies", [])],
            }
        for target in targets.values():
            target["needs"] = {by_id[need] for need in target["needs"]}
        return targets

    def _owners_of(self, path):
        """The targets that are made from a file."""
        owners = {name for name, target in self._targets.items() if path in target["sources"]}
        if owners:
            return owners
        if EVERYTHING.search(path):
            self._all = True
            return set()
        # A header that no target lists, a removed file, a fixture beside the code: whatever is made in its folder.
        owners = {name for name, target in self._targets.items() if str(Path(path).parent) == target["folder"]}
        if owners and path.endswith((".h", ".cpp", ".cu", ".cuh")):
            return owners
        name = Path(path).name
        owners = {owner for owner, target in self._targets.items() if any(self._names_file(source, name) for source in target["sources"])}
        if not owners and not TEXTS.search(path):
            self._all = True
        return owners

    def _names_file(self, source, name):
        file = ROOT / source
        return file.is_file() and name in file.read_text(errors="replace")

    def _dependencies_of(self, name):
        found, todo = set(), [name]
        while todo:
            for need in self._targets.get(todo.pop(), {"needs": ()})["needs"] - found:
                found.add(need)
                todo.append(need)
        return found

    def _with_dependents(self, names):
        touched = set(names)
        grown = True
        while grown:
            grown = False
            for name, target in self._targets.items():
                if name not in touched and target["needs"] & touched:
                    touched.add(name)
                    grown = True
        return touched
