#!/usr/bin/env python3
"""What a browser loads first must stay small: the page, and the scripts and styles that it and the overview name."""

import gzip
import re
import sys
from pathlib import Path

LIMIT = 150_000

dist = Path(sys.argv[1])
page = (dist / "index.html").read_text()
named = {name for name in re.findall(r'(?:src|href)="\./([^"]+)"', page)}
# Everything that the entry or the first page imports, however deep, counts; other pages come when they are asked for.
todo = [*named, *(f"assets/{one.name}" for one in (dist / "assets").glob("OverviewPage-*"))]
seen = set()
while todo:
    name = todo.pop()
    if name in seen or not (dist / name).is_file():
        continue
    seen.add(name)
    if name.endswith(".js"):
        text = (dist / name).read_text()
        todo += [f"assets/{one}" for one in re.findall(r'(?:from|import)\s*"\./([^"]+)"', text)]
if not any(name.endswith(".js") for name in seen):
    sys.exit("size.py: found no script in index.html")
sizes = {name: len(gzip.compress((dist / name).read_bytes(), 9)) for name in sorted(seen)}
sizes["index.html"] = len(gzip.compress(page.encode(), 9))
for name, size in sizes.items():
    print(f"{size:8,} {name}")
total = sum(sizes.values())
print(f"{total:8,} bytes gzipped, of at most {LIMIT:,}")
sys.exit(0 if total <= LIMIT else 1)
