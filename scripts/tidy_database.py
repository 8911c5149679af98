"""Writes a compile database without what clang does not know (precompiled headers of g++, its warnings), and prints the changed files that it can check.

Usage: CHANGED="a.cpp b.cpp" tidy_database.py IN.json OUT.json
"""

import json
import os
import re
import sys

changed = set(os.environ["CHANGED"].split())
with open(sys.argv[1]) as file:
    entries = json.load(file)
kept = []
seen = set()
for entry in entries:
    path = os.path.relpath(entry["file"])
    # A file that several programs share is checked once. clang 16 stumbles over LibTorch 1.13's headers.
    if path.startswith(("..", "build/")) or path in seen or "/torch/" in entry["command"]:
        continue
    seen.add(path)
    entry["command"] = re.sub(r"-include \S*cmake_pch\S*|-fpch-preprocess|-W\S+", "", entry["command"])
    kept.append(entry)
    if path in changed:
        print(path)
with open(sys.argv[2], "w") as file:
    json.dump(kept, file)
