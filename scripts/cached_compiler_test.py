"""Tests of the compiler launcher: what one checkout has compiled with clang, another finds in the cache."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent / "cached_compiler.sh"
NEWEST = SCRIPT.parent / "newest_clang.sh"


def newest_clang():
    found = subprocess.run([NEWEST, "clang++"], capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else None


@unittest.skipUnless(shutil.which("ccache") and newest_clang(), "needs ccache and clang")
class SecondCheckout(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        self.environment = {**os.environ, "CCACHE_DIR": str(self.root / "cache")}

    def checkout(self, name, precompiled):
        """Two files that are compiled as one, as CMake writes it down: by their whole paths."""
        place = self.root / name
        for folder in ("scripts", "src", "build"):
            (place / folder).mkdir(parents=True)
        shutil.copy(SCRIPT, place / "scripts")
        (place / "src/a.cpp").write_text("const char* here() { return __FILE__; }\nint size() { return kSize; }\n")
        (place / "build/unity.cxx").write_text(f'#include "{place}/src/a.cpp"\n')
        (place / "build/pch.hxx").write_text(precompiled)
        (place / "build/pch.hxx.cxx").write_text("")
        return place

    def compile(self, place, *arguments):
        subprocess.run([place / "scripts/cached_compiler.sh", shutil.which("ccache"), newest_clang(), *arguments],
                       cwd=place / "build", env=self.environment, check=True)

    def build(self, place):
        header = f"{place}/build/pch.hxx"
        self.compile(place, "-g", "-Xclang", "-emit-pch", "-Xclang", "-include", "-Xclang", header, "-x", "c++-header",
                     "-o", "pch.hxx.pch", "-c", f"{header}.cxx")
        self.compile(place, "-g", "-Xclang", "-include-pch", "-Xclang", f"{header}.pch", "-Xclang", "-include", "-Xclang",
                     header, "-o", "unity.o", "-c", f"{place}/build/unity.cxx")

    def hits(self):
        counts = subprocess.run(["ccache", "--print-stats"], env=self.environment, capture_output=True, text=True).stdout
        return sum(int(n) for n in re.findall(r"^(?:direct|preprocessed)_cache_hit\s+(\d+)", counts, re.M))

    def test_finds_what_the_first_compiled(self):
        self.build(self.checkout("first", "constexpr int kSize = 1;\n"))
        self.assertEqual(self.hits(), 0)
        self.build(self.checkout("second", "constexpr int kSize = 1;\n"))
        self.assertEqual(self.hits(), 1)

    def test_does_not_take_it_for_what_was_compiled_with_another_header(self):
        self.build(self.checkout("first", "constexpr int kSize = 1;\n"))
        self.build(self.checkout("second", "constexpr int kSize = 2;\n"))
        self.assertEqual(self.hits(), 0)


if __name__ == "__main__":
    unittest.main()
