"""Which targets of a build a change touches, from what CMake knows of them (its file API) and what git says has changed."""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import includes
from steps import ROOT, configure

# What decides how everything is compiled and tested: a change of one of these may change anything.
SCRIPTS = "cached_compiler|newest_clang|steps|checks|affected|setup"
EVERYTHING = re.compile(rf"^(CMakePresets\.json|cmake/|scripts/({SCRIPTS})\.|test\.sh|\.ci/)|CMakeLists\.txt$")
# Read by people, by clang's tools or by hand, and by a test only where a test names them.
TEXTS = re.compile(r"\.(md|yaml|html|svg|png)$|^(docs|examples|scripts)/|^\.(gitignore|clang-\w+)$|^demo\.sh$|^bench/.*\.(py|mjs)$")
# What is packed together with the program, and how that is tried.
PACKAGING = re.compile(r"^(packaging|tests/packages)/.*(?<!\.md)$")
SEEDS = re.compile(r"^tests/fixtures/fuzz/(\w+)/")
CODE = (".h", ".cpp", ".cu", ".cuh")
OF_TESTS = re.compile(r"_(test|fuzz|fixture|contract)\.(cpp|h)$|^tests/")
# Holds the whole tree against its rules, in seconds.
WHOLE_TREE = "scripts_tests"
DASHBOARD = "assay_dashboard_files"
# Folders of tests that are no target's sources, and the target that they try.
SCRIPTED = {"tests/packages": "assay", "web/tests": DASHBOARD}


@dataclass
class Target:
    kind: str  # CMake's word: EXECUTABLE, STATIC_LIBRARY, …
    folder: str
    sources: set
    needs: set

    def is_run(self):
        """A program, or a test that is a script: CMake has those as targets that only name their files."""
        return self.kind == "EXECUTABLE" or any(source.endswith("_test.py") for source in self.sources)


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


def pattern(names, chosen):
    """Matches the chosen ones of all names. Suites of which all are chosen stand for their tests: an argument has at most
    128 KiB, and there are thousands."""
    suites = {}
    for name in names:
        suites.setdefault(name.split(".")[0] + "." if "." in name else name, []).append(name)
    parts = []
    for suite, members in suites.items():
        if "." in suite and chosen.issuperset(members):
            parts.append(re.escape(suite) + ".*")
        else:
            parts += [re.escape(name) for name in members if name in chosen]
    return "^(" + "|".join(parts) + ")$"


def in_preset(preset, ref, options=()):
    """What changed since a commit, in a preset, which is configured for that."""
    outcome = configure(preset, options)
    if outcome.code:
        raise RuntimeError(f"configuring '{preset}' failed: see {outcome.log}")
    return Affected(targets_in(ROOT / "build" / preset / ".cmake/api/v1/reply"), changed_since(ref),
                    includes.reached(tops=(*includes.TOP, "engine")))


class Affected:
    """The targets that depend on what has changed: `name in affected`."""

    def __init__(self, targets, changed, users=None):
        """`users`: by header, the .cpp files that include it."""
        self._targets = targets
        self._users = users or {}
        touched = {WHOLE_TREE} & set(targets) if changed else set()
        looked_at = set()
        for path in changed:
            owners = self._owners_of(path)
            if owners is None:
                touched = set(targets)
                break
            touched |= owners
            looked_at |= self._looked_at_for(path)
        self._names = self._with_dependents(touched) | looked_at

    def __contains__(self, name):
        return name in self._names

    def programs_below(self, names):
        """What is run among what these targets are made of, where it was touched."""
        wanted = set()
        for name in names:
            wanted |= {name, *self._dependencies_of(name)}
        return sorted(name for name in wanted & self._names if self._targets[name].is_run())

    def test_pattern(self, preset):
        """A pattern for ctest: the tests of what was touched."""
        listed = subprocess.run(["ctest", "--test-dir", f"build/{preset}", "--show-only=json-v1"], cwd=ROOT, check=True,
                                capture_output=True, text=True).stdout
        tests = json.loads(listed)["tests"]
        return pattern([test["name"] for test in tests], {test["name"] for test in tests if self.touches(test)})

    def touches(self, test):
        """Whether a test, as ctest lists it, runs a program that was touched, is a touched script, or looks at the dashboard
        where that was touched."""
        if test["name"] in self._names or any(Path(word).name in self._names for word in test.get("command", [])):
            return True
        folder = next((entry["value"] for entry in test.get("properties", []) if entry["name"] == "WORKING_DIRECTORY"), "")
        return DASHBOARD in self._names and Path(folder).name == "web"

    def _owners_of(self, path):
        """The targets that are made from a file; None: all of them may be."""
        owners = self._made_from(path)
        for user in self._users.get(path, ()):
            owners |= self._made_from(user)
        if owners:
            return owners
        if path.startswith("web/") or PACKAGING.search(path):
            return self._naming(path, OF_TESTS)
        if seeds := SEEDS.search(path):
            return {f"fuzz_{seeds[1]}"} & set(self._targets)
        if TEXTS.search(path) and not EVERYTHING.search(path):
            return self._naming(path, OF_TESTS)
        if EVERYTHING.search(path):
            return None
        if path.endswith(CODE):
            # A header that nothing includes, or a file that is gone: whatever is made in its folder.
            return {name for name, target in self._targets.items() if str(Path(path).parent) == target.folder} or None
        return self._naming(path) or None

    def _looked_at_for(self, path):
        """The targets that scripts look at, and no other program, to see what a file does: a browser at the dashboard, a
        container at the packages."""
        found = {target for folder, target in SCRIPTED.items() if any(_mentions(file, path) for file in (ROOT / folder).iterdir())}
        if path.startswith("web/"):
            found.add(DASHBOARD)
        if PACKAGING.search(path):
            found.add("assay")
        if DASHBOARD in found:
            found |= {name for name, target in self._targets.items() if DASHBOARD in target.needs}
        return found & set(self._targets)

    def _made_from(self, path):
        return {name for name, target in self._targets.items() if path in target.sources}

    def _naming(self, path, sources=re.compile("")):
        return {name for name, target in self._targets.items()
                if any(_mentions(source, path) for source in target.sources if sources.search(source))}

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


def _mentions(source, path):
    file, name = ROOT / source, Path(path).name
    if name == "README.md":  # every folder has one
        name = path
    return file.is_file() and name in file.read_text(errors="replace")
