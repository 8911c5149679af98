"""Tests of the checks' own logic: `python3 -m unittest discover -s scripts -p "*_test.py"`."""

import unittest

from affected import Affected, Target
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
    "all_tests": Target("UTILITY", "", set(), {"base_test", "report_test"}),
}


class AffectedTest(unittest.TestCase):
    def programs(self, *changed):
        return Affected(TARGETS, changed).programs_below(["all_tests"])

    def test_follows_dependencies_upwards_only(self):
        self.assertEqual(self.programs("src/base/x.h"), ["base_test", "report_test"])
        self.assertEqual(self.programs("src/model/x.cpp"), ["report_test"])
        self.assertEqual(self.programs("src/base/x_test.cpp"), ["base_test"])

    def test_code_that_no_target_lists_belongs_to_its_folder(self):
        self.assertEqual(self.programs("src/report/gone.cpp"), ["report_test"])

    def test_what_may_change_anything_changes_everything(self):
        for path in ("CMakePresets.json", "cmake/X.cmake", "src/base/CMakeLists.txt", "tests/support/x.h", "src/new/x.cpp"):
            self.assertEqual(self.programs(path), ["base_test", "report_test"], path)

    def test_what_is_packed_with_the_program_belongs_to_it(self):
        targets = {**TARGETS, "assay": program("apps/x.cpp", "report"), "cli_test": program("tests/x.cpp", "assay"),
                   "all_tests": Target("UTILITY", "", set(), {"base_test", "cli_test"})}
        for path in ("packaging/build.sh", "packaging/agent.yaml", "packaging/debian/assay-agent/postinst", "tests/packages/inside.sh"):
            self.assertEqual(Affected(targets, [path]).programs_below(["all_tests"]), ["assay", "cli_test"], path)
        self.assertEqual(Affected(targets, ["packaging/README.md"]).programs_below(["all_tests"]), [])

    def test_texts_that_no_test_names_change_nothing(self):
        self.assertEqual(self.programs("docs/guides/reports.md", "README.md"), [])
        self.assertEqual(self.programs(), [])


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
