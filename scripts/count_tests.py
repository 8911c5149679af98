"""Sums up a JUnit report of ctest: `passed failed skipped`; with --failed, the names of the failed tests."""

import sys
import xml.etree.ElementTree as tree

names = sys.argv[1] == "--failed"
cases = tree.parse(sys.argv[-1]).getroot().iter("testcase")
failed, skipped, passed = [], [], []
for case in cases:
    if case.find("failure") is not None or case.get("status") == "fail":
        failed.append(case.get("name"))
    elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        skipped.append(case.get("name"))
    else:
        passed.append(case.get("name"))
if names:
    print("\n".join(failed))
elif passed or failed or skipped:
    print(len(passed), len(failed), len(skipped))
else:
    sys.exit("no tests in the report")
