"""Tests of the scripts that read a build: what a header costs, and which functions nobody calls."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import rebuild_cost
from unused_functions import ObjectFile, called, short_name, says_why


class RebuildCostTest(unittest.TestCase):
    DEPS = """pch.gch: #deps 1, deps mtime 5 (VALID)
    base.h

a.o: #deps 2, deps mtime 5 (VALID)
    a.cpp
    pch.gch

b.o: #deps 2, deps mtime 5 (VALID)
    b.cpp
    b.h
"""
    LOG = "# ninja log v5\n0\t2000\t1\ta.o\thash\n0\t500\t2\ta.o\thash\n100\t1100\t1\tb.o\thash\n0\t4000\t1\tpch.gch\thash\n"

    def test_what_comes_by_way_of_a_precompiled_header_counts(self):
        rows = rebuild_cost.table(rebuild_cost.objects_by_dependency(self.DEPS), rebuild_cost.seconds_by_output(self.LOG),
                                  lambda path: path if path.endswith(".h") else None)
        self.assertEqual(rows, [("base.h", 2, 6.0), ("b.h", 1, 1.0)])


class UnusedFunctionsTest(unittest.TestCase):
    SOURCES = {
        "main.cpp": "namespace assay { int used(); } int main() { return assay::used(); }",
        "library.cpp": """namespace assay {
            int deeper() { return 1; }
            int used() { return deeper(); }
            int by_unused() { return 2; }
            int unused(int n) { return n > 0 ? unused(n - 1) : by_unused(); }
            struct Shape { virtual int area(); }; int Shape::area() { return 3; }
            int in_a_table() { return 4; }
            int (*const table[])() = {in_a_table};
            int (*const* entry())() { return table; }
        }""",
    }

    @unittest.skipUnless(shutil.which("g++"), "needs g++")
    def test_finds_what_main_does_not_reach(self):
        with tempfile.TemporaryDirectory() as folder:
            objects = []
            for name, text in self.SOURCES.items():
                path = Path(folder, name)
                path.write_text(text)
                subprocess.run(["g++", "-O0", "-g", "-c", path, "-o", f"{path}.o"], check=True)
                objects.append(ObjectFile(Path(f"{path}.o").read_bytes()))
        reached = called(objects)
        left = {name for one in objects for name in one.strong} - reached
        self.assertEqual(left, {"_ZN5assay9by_unusedEv", "_ZN5assay6unusedEi", "_ZN5assay5entryEv"})

    def test_names_are_those_of_the_source(self):
        self.assertEqual(short_name("assay::Store::open(std::string const&) const"), "assay::Store::open")
        self.assertEqual(short_name("assay::joined[abi:cxx11](int)"), "assay::joined")

    def test_a_header_says_what_a_function_is_kept_for(self):
        header = "#pragma once\n\n// About it.\n\n/// Adds. Waits for the\n/// node benchmark.\nint add(int a,\n        int b);\nint other(int a);\n"
        self.assertTrue(says_why(header, "add"))
        self.assertFalse(says_why(header, "other"))
        self.assertTrue(says_why(header.replace("About it.", "Waits for the node benchmark."), "other"))
        self.assertFalse(says_why(header.replace("About it.", "Waits for the node benchmark."), "elsewhere"))
        self.assertFalse(says_why(header.replace("About it.", "Waits for bytes."), "other"))
        self.assertTrue(says_why(header.replace("other(int a);", "other(int a);  ///< Called by tests"), "other"))


if __name__ == "__main__":
    unittest.main()
