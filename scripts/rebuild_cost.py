#!/usr/bin/env python3
"""What editing a header costs: header, objects that are compiled again, seconds of compiling.

    python3 scripts/rebuild_cost.py [BUILD-FOLDER] [--most N]      default: build/dev, 25 rows

From ninja's own records: which object was made from which headers, and how long it took. The seconds are the longest that
an object ever took, one after the other: with N cores divide by N; a compiler cache makes them fewer, other work more.
"""

import argparse
import os
import re
import subprocess
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def objects_by_dependency(text):
    """From `ninja -t deps`: what was made from a file, directly."""
    made, output = defaultdict(set), None
    for line in text.splitlines():
        if line.startswith("    "):
            made[line.strip()].add(output)
        elif match := re.match(r"(\S.*): #deps \d+", line):
            output = match[1]
    return made


def seconds_by_output(text):
    """From .ninja_log: the longest that making each output took."""
    seconds = defaultdict(float)
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) == 5:
            seconds[fields[3]] = max(seconds[fields[3]], (int(fields[1]) - int(fields[0])) / 1000)
    return seconds


def rebuilt_by(header, made):
    """Everything that is made again, also by way of a precompiled header."""
    found, waiting = set(), [header]
    while waiting:
        for output in made.get(waiting.pop(), ()):
            if output not in found:
                found.add(output)
                waiting.append(output)
    return found


def table(made, seconds, named):
    """Rows (header, objects, seconds) of the headers that `named` has a name for, the dearest first."""
    by_name = defaultdict(set)
    for header in list(made):
        if name := named(header):
            by_name[name] |= rebuilt_by(header, made)
    rows = [(name, len(outputs), sum(seconds.get(o, 0) for o in outputs)) for name, outputs in by_name.items()]
    return sorted(rows, key=lambda row: (-row[2], row[0]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--most", type=int, default=25, metavar="N")
    options = parser.parse_args()
    deps = subprocess.run(["ninja", "-C", options.build, "-t", "deps"], capture_output=True, text=True, check=True).stdout

    def named(path):
        if not path.endswith(".h"):
            return None
        # Headers are found by links, one folder of them for each module.
        real = Path(os.path.realpath(options.build / path))
        inside = real.is_relative_to(ROOT) and not real.is_relative_to(options.build.resolve())
        return str(real.relative_to(ROOT)) if inside else None

    rows = table(objects_by_dependency(deps), seconds_by_output((options.build / ".ninja_log").read_text()), named)
    print(f"{'header':<44} {'objects':>7} {'seconds':>8}")
    for name, objects, seconds in rows[: options.most]:
        print(f"{name:<44} {objects:>7} {seconds:>8.0f}")


if __name__ == "__main__":
    main()
