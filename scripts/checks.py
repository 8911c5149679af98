"""Every check of the project: see ./test.sh, which installs what this needs and calls it.

Three builds, each with the tests that belong to it: `release` (programs as users get them: integration, e2e, the engine),
`asan-ubsan` (unit tests and fuzzers) and `tsan` (the threaded ones among the unit tests). While one is tested, the next is
built.
"""

import argparse
import os
import queue
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import affected
from steps import ROOT, Display, build, clock, run, tail_of

LONGEST_OUTPUT = 200  # lines shown of one failed test
FUZZ_SECONDS = 6  # of each program, however few a change touches
AT_ONCE = 4  # tests, also on two processors: those that start programs wait more than they compute


@dataclass
class Suite:
    """A build and the tests that are run in it."""

    preset: str
    title: str
    targets: list
    labels: str
    options: list = field(default_factory=list)
    opt_in: tuple = ()  # labels of tests that are run only when they are asked for


SUITES = [
    Suite("release", "programs, engine, integration and e2e tests", ["assay", "assay-engine", "assay_release_tests", "assay_benches"],
          "integration|e2e|engine|numeric", ["-DASSAY_WERROR=ON"], opt_in=("kubernetes", "distributions")),
    Suite("asan-ubsan", "unit tests under ASan and UBSan", ["assay_unit_tests", "assay_fuzzers"], "unit"),
    Suite("tsan", "threaded unit tests under TSan", ["assay_threaded_tests"], "threaded"),
]


@dataclass
class Failure:
    name: str
    output: str = ""


class Results:
    """What the checks said. Every method may be called from any thread."""

    def __init__(self):
        self._lock = threading.Lock()
        self.passed = 0
        self.failures = []
        self.skips = []
        self.rows = {}

    def passes(self, count=1):
        with self._lock:
            self.passed += count

    def fails(self, name, output=""):
        with self._lock:
            self.failures.append(Failure(name, output))

    def skips_one(self, name, reason):
        with self._lock:
            self.skips.append((name, reason))

    def took(self, stage, column, outcome):
        with self._lock:
            row = self.rows.setdefault(stage, {"build": None, "run": None, "cpu": 0.0})
            row[column] = (row[column] or 0.0) + outcome.seconds
            row["cpu"] += outcome.cpu_seconds


def indented(text):
    return "\n".join("  " + line for line in text.splitlines())


def shortened(text):
    lines = text.strip().splitlines()
    if len(lines) <= LONGEST_OUTPUT:
        return "\n".join(lines)
    return "\n".join(lines[:20] + [f"… {len(lines) - LONGEST_OUTPUT} lines …"] + lines[-(LONGEST_OUTPUT - 20) :])


def skips_in(output, program="all of it"):
    """Names and reasons of the skipped tests in GoogleTest's output; a reason stands behind the place in the source.
    Where there is a reason and no test, the whole program was skipped."""
    reason = None
    named = False
    lines = [line.strip() for line in output.splitlines()]
    for at, line in enumerate(lines):
        if line.endswith(": Skipped") and at + 1 < len(lines):
            reason = lines[at + 1]
        elif line.startswith("[  SKIPPED ]") and line.endswith(")"):
            named = True
            yield line.split()[3], reason or "no reason given"
    if reason and not named:
        yield program, reason


def run_tests(display, results, suite, selection):
    """The tests of one build, through ctest, added up from its report."""
    report = ROOT / "build" / suite.preset / "report.xml"
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", f"build/{suite.preset}", "--output-on-failure", "--no-tests=error", f"-j{AT_ONCE}",
               "--output-junit", str(report), *selection]
    outcome = run(display, "run", f"testing {suite.preset}", command, ROOT / f"build/{suite.preset}-tests.log")
    results.took(suite.title, "run", outcome)
    try:
        cases = list(xml.parse(report).getroot().iter("testcase"))
    except (OSError, xml.ParseError):
        cases = []
    passed = failed = skipped = 0
    for case in cases:
        output = (case.findtext("system-out") or "") + (case.findtext("failure") or "")
        if case.find("failure") is not None or case.get("status") == "fail":
            failed += 1
            results.fails(f"{suite.preset}: {case.get('name')}", shortened(output))
            continue
        skips = list(skips_in(output, case.get("name")))
        for name, reason in skips:
            results.skips_one(f"{suite.preset}: {name}", reason)
        if not skips and (case.find("skipped") is not None or case.get("status") in ("notrun", "disabled")):
            skips = [case.get("name")]
            results.skips_one(f"{suite.preset}: {case.get('name')}", "it was not run")
        skipped += len(skips)
        # A program that runs many tests at once counts as many.
        passed += max(output.count("[       OK ]"), 0 if skips else 1)
    results.passes(passed)
    if not passed + failed + skipped:
        results.fails(f"{suite.preset}: no test ran", tail_of(outcome.log))
    elif outcome.code and not failed:
        results.fails(f"{suite.preset}: ctest ended with {outcome.code}", tail_of(outcome.log))
    display.say(f"   {suite.preset}: {passed} passed, {failed} failed, {skipped} skipped in {clock(outcome.seconds)}")


def lint(display, results, arguments):
    outcome = run(display, "build", "formatting and lint", ["scripts/lint.sh", *arguments], ROOT / "build/lint.log", niceness=10)
    results.took("formatting and lint", "run", outcome)
    for line in outcome.log.read_text().splitlines():
        verdict, _, name = line.partition(" ")
        if verdict == "pass":
            results.passes()
        elif verdict == "skip":
            results.skips_one(*name.split(": ", 1))
        elif verdict == "fail":
            results.fails(name, tail_of(outcome.log, LONGEST_OUTPUT))
            display.say(f"   failed: {name}")


def fuzz(display, results, programs):
    """Each fuzzer for some seconds from its seeds, two at a time."""
    started, before = time.monotonic(), os.times()
    done = 0

    def one(program):
        folder = ROOT / "build/asan-ubsan/fuzz"
        corpus, seeds = folder / "corpus" / program.name, ROOT / "tests/fixtures/fuzz" / program.name.removeprefix("fuzz_")
        corpus.mkdir(parents=True, exist_ok=True)
        log = folder / f"{program.name}.log"
        with open(log, "w") as out:
            code = subprocess.run([program, f"-max_total_time={FUZZ_SECONDS}", "-timeout=10", "-rss_limit_mb=2048",
                                   "-print_final_stats=1", f"-artifact_prefix={folder}/{program.name}-", corpus,
                                   *([seeds] if seeds.is_dir() else [])], stdout=out, stderr=out, check=False).returncode
        return program, code, log

    display.show("run", f"fuzzing: {len(programs)} programs, {FUZZ_SECONDS} s each")
    inputs = 0
    with ThreadPoolExecutor(2) as pool:
        for program, code, log in pool.map(one, programs):
            done += 1
            display.show("run", f"fuzzing: {done} of {len(programs)} programs, {FUZZ_SECONDS} s each")
            if code:
                results.fails(f"{program.name} (its input is kept in build/asan-ubsan/fuzz)", tail_of(log))
                continue
            results.passes()
            inputs += sum(int(line.split()[-1]) for line in log.read_text(errors="replace").splitlines()
                          if line.startswith("stat::number_of_executed_units"))
    display.show("run", None)
    after = os.times()
    seconds = time.monotonic() - started
    results.rows["fuzzing"] = {"build": None, "run": seconds, "cpu": after.children_user - before.children_user}
    display.say(f"   fuzzing: {len(programs)} programs, {inputs:,} inputs in {clock(seconds)}")


class Checks:
    """Builds one suite after the other, and looks at the text of all, while what is built is tested."""

    def __init__(self, options):
        self._options = options
        self._display = Display()
        self._results = Results()
        self._work = queue.Queue()

    def run(self):
        runner = threading.Thread(target=self._run_what_comes)
        runner.start()
        chosen = [suite for suite in SUITES if self._is_chosen(suite)]
        for number, suite in enumerate(chosen):
            self._build(suite, niceness=0 if number == 0 else 10)
        if not self._options.label and not self._options.regex:
            self._attempt(self._lint)
        self._work.put(None)
        runner.join()
        return self._close()

    def _is_chosen(self, suite):
        label = self._options.label
        return not label or label in [*suite.labels.split("|"), *suite.opt_in] or (label == "unit" and suite.preset == "asan-ubsan")

    def _run_what_comes(self):
        while (job := self._work.get()) is not None:
            self._attempt(job)

    def _attempt(self, job):
        try:
            job()
        except Exception as error:  # noqa: BLE001  A check that breaks is a failed check, and the others go on.
            self._results.fails(f"the checks themselves: {error!r}")

    def _build(self, suite, niceness):
        narrowed = None
        targets = suite.targets
        if self._options.since:
            narrowed = affected.in_preset(suite.preset, self._options.since, suite.options)
            targets = narrowed.programs_below(suite.targets)
            if not targets:
                self._display.say(f"== {suite.preset}: nothing of it was touched since {self._options.since}")
                return
        self._display.say(f"== {time.strftime('%H:%M:%S')} building {suite.preset}: {suite.title}")
        outcome = build(self._display, "build", suite.preset, targets, suite.options, niceness)
        self._results.took(suite.title, "build", outcome)
        if outcome.code:
            self._results.fails(f"build {suite.preset}", tail_of(outcome.log))
            self._display.say(f"   building {suite.preset} failed")
            return
        self._results.passes()
        self._display.say(f"   built {suite.preset} in {clock(outcome.seconds)}")
        selection = ["-L", self._options.label or suite.labels]
        if narrowed:
            selection += ["-R", narrowed.test_pattern(suite.preset)]
        if self._options.regex:
            selection += ["-R", self._options.regex]
        self._work.put(lambda: run_tests(self._display, self._results, suite, selection))
        if self._options.label or self._options.regex:
            return
        if suite.preset == "asan-ubsan":
            programs = sorted(path for path in (ROOT / "build/asan-ubsan/fuzz").glob("fuzz_*")
                              if os.access(path, os.X_OK) and path.is_file() and (not narrowed or path.name in narrowed))
            if programs:
                self._work.put(lambda: fuzz(self._display, self._results, programs))

    def _lint(self):
        arguments = ["--all"] if self._options.tidy_all else ["--since", self._options.since] if self._options.since else []
        lint(self._display, self._results, arguments)

    def _close(self):
        results = self._results
        say = self._display.say
        say()
        for name, reason in results.skips:
            say(f"skipped: {name}: {reason}")
        say()
        say(f"{'Stage':<46}{'build':>8}{'run':>8}{'CPU':>8}")
        for stage, row in results.rows.items():
            cells = "".join(f"{clock(row[column]) if row[column] is not None else '–':>8}" for column in ("build", "run", "cpu"))
            say(f"{stage:<46}{cells}")
        say(f"{'all, by the clock':<46}{clock(time.monotonic() - STARTED):>16}"
            f"{clock(sum(row['cpu'] for row in results.rows.values())):>8}")
        for failure in results.failures:
            say(f"\nfailed: {failure.name}")
            if failure.output:
                say(indented(failure.output))
        if results.failures:
            say("\n" + "\n".join(f"failed: {failure.name}" for failure in results.failures))
        line = f"{results.passed} passed, {len(results.failures)} failed"
        say("\n" + line + (f", {len(results.skips)} skipped" if results.skips else ""))
        return 1 if results.failures or not results.passed else 0


STARTED = time.monotonic()


def main():
    parser = argparse.ArgumentParser(prog="./test.sh", description="Installs what is missing, builds, and runs every check.")
    parser.add_argument("--label", choices=["unit", "threaded", "numeric", "engine", "integration", "e2e", "kubernetes",
                                                   "distributions"],
                        help="only the tests with this label")
    parser.add_argument("-R", dest="regex", metavar="REGEX", help="only the tests whose name matches")
    parser.add_argument("--since", metavar="REF", help="only what the changes since this commit touch")
    parser.add_argument("--tidy-all", action="store_true", help="clang-tidy on every file, not only on what changed")
    return Checks(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
