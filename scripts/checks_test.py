"""Tests of the checks' own logic: `python3 -m unittest discover -s scripts -p "*_test.py"`."""

import re
import unittest

from affected import Affected, Target, pattern
from checks import shortened, skips_in
from steps import PROGRESS, clock


def library(folder, *needs):
    return Target("STATIC_LIBRARY", folder, {f"{folder}/x.cpp", f"{folder}/x.h"}, set(needs))


def program(source, *needs):
    return Target("EXECUTABLE", "tests", {source}, set(needs))


TARGETS = {
    "base": library("src/base"),
    "model": library("src/model", "base"),
    "report": library("src/report", "model"),
    "base_test": program("src/base/x_test.cpp", "base"),
    "report_test": program("src/report/x_test.cpp", "report"),
    "scripts_tests": Target("UTILITY", "tests", {"scripts/signs_test.py"}, set()),
    "bench_tests": Target("UTILITY", "tests", {"bench/compare.py", "bench/compare_test.py"}, set()),
    "all_tests": Target("UTILITY", "", set(), {"base_test", "report_test", "scripts_tests", "bench_tests"}),
}
TREE = "scripts_tests"  # looks at every file, whatever has changed


class AffectedTest(unittest.TestCase):
    def programs(self, *changed, users=None):
        return Affected(TARGETS, changed, users).programs_below(["all_tests"])

    def test_follows_dependencies_upwards_only(self):
        self.assertEqual(self.programs("src/base/x.h"), ["base_test", "report_test", TREE])
        self.assertEqual(self.programs("src/model/x.cpp"), ["report_test", TREE])
        self.assertEqual(self.programs("src/base/x_test.cpp"), ["base_test", TREE])

    def test_code_that_no_target_lists_belongs_to_its_folder(self):
        self.assertEqual(self.programs("src/report/gone.cpp"), ["report_test", TREE])

    def test_a_header_belongs_to_what_includes_it(self):
        shared = "tests/support/x.h"
        self.assertEqual(self.programs(shared, users={shared: {"src/base/x_test.cpp"}}), ["base_test", TREE])
        # Another project takes single files of a module: the header of one is listed by the module alone.
        taken = "src/report/x.h"
        self.assertEqual(self.programs(taken, users={taken: {"src/base/x_test.cpp"}}), ["base_test", "report_test", TREE])

    def test_what_may_change_anything_changes_everything(self):
        for path in ("CMakePresets.json", "cmake/X.cmake", "src/base/CMakeLists.txt", "tests/support/x.h", "src/new/x.cpp",
                     "scripts/steps.py", "scripts/cached_compiler.sh", "tests/fixtures/nobody-knows.bin"):
            self.assertEqual(self.programs(path), ["base_test", "bench_tests", "report_test", TREE], path)

    def test_a_script_that_builds_nothing_belongs_to_its_tests(self):
        self.assertEqual(self.programs("scripts/signs_test.py"), [TREE])
        self.assertEqual(self.programs("scripts/lint.sh"), [TREE])
        self.assertEqual(self.programs("bench/compare.py"), ["bench_tests", TREE])

    def test_the_dashboard_belongs_to_the_program_that_has_it(self):
        targets = {**TARGETS, "assay_dashboard_files": library("."), "assay": program("apps/x.cpp", "assay_dashboard_files"),
                   "cli_test": program("tests/x.cpp", "assay"), "all_tests": Target("UTILITY", "", set(), {"base_test", "cli_test"})}
        affected = Affected(targets, ["web/src/pages/queue/no-source-names-this.svelte"])
        # What starts the program and has no browser would see the same.
        self.assertEqual(affected.programs_below(["all_tests"]), ["assay"])
        self.assertTrue(affected.touches({"name": "web_units", "command": ["node"],
                                          "properties": [{"name": "WORKING_DIRECTORY", "value": "/b/build/release/web"}]}))
        self.assertTrue(affected.touches({"name": "web_queue", "command": ["node", "/b/build/release/bin/assay"]}))
        self.assertTrue(affected.touches({"name": TREE, "command": ["python3", "-m", "unittest"]}))
        self.assertFalse(affected.touches({"name": "Base.Works", "command": ["/b/build/release/tests/base_test"]}))
        # Builds without the dashboard have nothing of it to try.
        self.assertEqual(self.programs("web/src/pages/queue/no-source-names-this.svelte"), [TREE])

    def test_seeds_belong_to_their_fuzzer(self):
        targets = {"fuzz_spec": program("src/spec/spec_fuzz.cpp"), "fuzz_tar": program("src/bytes/tar_fuzz.cpp")}
        affected = Affected(targets, ["tests/fixtures/fuzz/spec/one.yaml"])
        self.assertEqual(affected.programs_below(targets), ["fuzz_spec"])

    def test_what_is_packed_with_the_program_belongs_to_it(self):
        targets = {**TARGETS, "assay": program("apps/x.cpp", "report"), "cli_test": program("tests/x.cpp", "assay"),
                   "all_tests": Target("UTILITY", "", set(), {"base_test", "cli_test"})}
        for path in ("packaging/build.sh", "packaging/agent.yaml", "packaging/debian/assay-agent/postinst", "tests/packages/inside.sh"):
            self.assertEqual(Affected(targets, [path]).programs_below(["all_tests"]), ["assay"], path)
        self.assertEqual(Affected(targets, ["packaging/README.md"]).programs_below(["all_tests"]), [])

    def test_texts_that_no_test_names_change_nothing(self):
        self.assertEqual(self.programs("docs/guides/reports.md", "README.md", ".clang-tidy"), [TREE])
        self.assertEqual(self.programs(), [])

    def test_texts_belong_to_the_tests_that_name_them(self):
        targets = {"model": Target("STATIC_LIBRARY", "src/model", {"src/model/metric.cpp"}, set()),
                   "model_test": Target("EXECUTABLE", "src/model", {"src/model/metric_test.cpp"}, {"model"}),
                   "assay": program("apps/x.cpp"), "base_test": program("src/base/text_test.cpp")}
        affected = Affected(targets, ["docs/reference/metrics.md"])
        self.assertEqual(affected.programs_below(targets), ["model_test"])
        # Every command of it is executed where the packages are tried.
        self.assertEqual(Affected(targets, ["docs/guides/cluster.md"]).programs_below(targets), ["assay"])


class PatternTest(unittest.TestCase):
    NAMES = ["Store.Opens", "Store.Closes", "Log.Writes", "Log.Reads", "packages_build"]

    def matched(self, chosen):
        return {name for name in self.NAMES if re.search(pattern(self.NAMES, chosen), name)}

    def test_matches_what_was_chosen(self):
        for chosen in (set(), {"Log.Reads"}, {"Store.Opens", "Store.Closes", "packages_build"}, set(self.NAMES)):
            self.assertEqual(self.matched(chosen), chosen)

    def test_thousands_fit_an_argument(self):
        names = [f"SuiteWithQuiteALongName{suite}.DoesWhatIsSaidInAWholeSentence{test}" for suite in range(500) for test in range(10)]
        self.assertLess(len(pattern(names, set(names))), 128 << 10)


class OutputTest(unittest.TestCase):
    def test_progress_of_ninja_and_ctest(self):
        self.assertEqual(PROGRESS.match("[3/90] Building CXX object x.o").groups(), ("3", "90"))
        self.assertEqual(PROGRESS.match("  3/90 Test  #17: Json.Reads ....   Passed").groups(), ("3", "90"))
        self.assertIsNone(PROGRESS.match("1/2 of it"))

    def test_skipped_tests_come_with_their_reasons(self):
        output = "/x_test.cpp:7: Skipped\nneeds a GPU\n\n[  SKIPPED ] Kernels.Norm (0 ms)\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] Kernels.Norm\n"
        self.assertEqual(list(skips_in(output)), [("Kernels.Norm", "needs a GPU")])

    def test_a_program_that_was_skipped_as_a_whole_says_why(self):
        output = "[---] Global test environment set-up.\ncluster.cpp:38: Skipped\nno cluster here\n[  PASSED  ] 51 tests.\n"
        self.assertEqual(list(skips_in(output, "cluster_test")), [("cluster_test", "no cluster here")])
        self.assertEqual(list(skips_in("[  PASSED  ] 51 tests.\n", "cluster_test")), [])

    def test_long_output_keeps_its_end(self):
        text = shortened("\n".join(str(number) for number in range(1000)))
        self.assertLessEqual(len(text.splitlines()), 201)
        self.assertTrue(text.endswith("999"))

    def test_times(self):
        self.assertEqual(clock(59.9), "0:59")
        self.assertEqual(clock(3661), "61:01")


if __name__ == "__main__":
    unittest.main()
