"""Every flag that the code sets is in the table behind docs/reference/verdicts.md, and nothing else is.

Flags are found by the way they are set: `flag("kind", …)`, `flags.push_back({"kind", …})`, `Flag{"kind", …}`.
"""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SET = re.compile(r'(?:\bflag\(\s*|\bflags_?\.push_back\(\s*\{\s*(?:\.kind = )?|\bFlag\s*\{\s*(?:\.kind = )?)"([a-z_]+)"')
ROW = re.compile(r'^ *\{"([a-z_]+)", \w+, \w+,', re.MULTILINE)
ELSEWHERE = {"workload_warning"}  # what a workload's warning without a kind becomes


def set_in_code():
    kinds = {}
    for top in ("src", "apps"):
        for file in sorted((ROOT / top).rglob("*.cpp")):
            if not file.name.endswith(("_test.cpp", "_fixture.cpp", "_fuzz.cpp")):
                for kind in SET.findall(file.read_text()):
                    kinds.setdefault(kind, str(file.relative_to(ROOT)))
    return kinds


class FlagKinds(unittest.TestCase):
    def test_what_is_set_is_in_the_table_and_what_is_in_the_table_is_set(self):
        rows = set(ROW.findall((ROOT / "src/model/flag_kinds.cpp").read_text()))
        kinds = set_in_code()
        self.assertGreater(len(kinds), 50)
        missing = {kind: place for kind, place in kinds.items() if kind not in rows}
        self.assertEqual(missing, {}, "set, and no row of src/model/flag_kinds.cpp")
        self.assertEqual(sorted(rows - set(kinds) - ELSEWHERE), [], "a row, and never set")


if __name__ == "__main__":
    unittest.main()
