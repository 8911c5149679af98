#!/usr/bin/env python3
"""Lists functions of src/ and apps/ that no program calls: nothing but tests, fixtures, fuzzers and benchmarks does.

    python3 scripts/unused_functions.py [BUILD-FOLDER]      default: build/dev, which must be built

It reads the symbols and relocations of the object files, which have to be compiled without inlining (the preset `dev`).
A function counts as called if a program's code or data refers to it, from a function that is called itself; what only a
file sees (static functions, tables) is taken to be used, so a chain behind one of those is not found. Functions in headers
are not looked at; those that write pages of docs/ (`…_reference`) count as programs. A function that is kept all the same
says so in the comment above its declaration, beside it, or in the first comment of its header: "Waits for the node benchmark"
(or what else is to come: COMING), "Called by tests", "Called by bench/…"; those are listed apart. Always ends with exit code 0.
"""

import re
import struct
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOT_A_PROGRAM = re.compile(r"_(test|fuzz|fixture)\.cpp\.o$|/bench/|(^|/)tests/|test_main")
COMING = ("node benchmark",)  # "Waits for bytes" says what a function does, not why it is kept
KEPT = re.compile(rf"Waits for the (?:{'|'.join(COMING)})|Called by (?:tests|bench/)")
FUNCTION, LOCAL, WEAK = 2, 0, 2
SYMBOLS, RELOCATIONS = 2, 4


class ObjectFile:
    """The functions of one object file and what refers to what, as far as symbols tell."""

    def __init__(self, data):
        self.functions = {}  # name -> address (section, offset), of those with external linkage
        self.strong = set()  # names of those that are no inline functions or templates
        self.references = defaultdict(set)  # name of a function, or None for everything else -> names
        sections = self._sections(data)
        table = next((s for s in sections if s["type"] == SYMBOLS), None)
        if not table:
            return
        names = sections[table["link"]]
        symbols = []
        for at in range(table["offset"], table["offset"] + table["size"], 24):
            name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", data, at)
            start = names["offset"] + name
            symbols.append((data[start:data.index(b"\0", start)].decode(), info, section, value, size))
        spans = defaultdict(list)
        for name, info, section, value, size in symbols:
            if info & 15 != FUNCTION or section == 0 or section >= len(sections):
                continue
            linkage = info >> 4
            spans[section].append((value, value + size, None if linkage == LOCAL else name))
            if linkage != LOCAL:
                self.functions[name] = (section, value)
                if linkage != WEAK:
                    self.strong.add(name)
        for section in sections:
            if section["type"] != RELOCATIONS or self._ignored(sections[section["info"]]["name"]):
                continue
            for at in range(section["offset"], section["offset"] + section["size"], 24):
                offset, info, _ = struct.unpack_from("<QQq", data, at)
                target = symbols[info >> 32][0]
                if target:
                    self.references[self._around(spans[section["info"]], offset)].add(target)

    @staticmethod
    def _sections(data):
        offset, = struct.unpack_from("<Q", data, 0x28)
        size, count, names = struct.unpack_from("<HHH", data, 0x3A)
        if count == 0:  # more than fit the header: the first section has the number
            count, = struct.unpack_from("<Q", data, offset + 32)
        if names == 0xFFFF:
            names, = struct.unpack_from("<I", data, offset + 40)
        sections = []
        for index in range(count):
            name, kind, _, _, start, length, link, info = struct.unpack_from("<IIQQQQII", data, offset + index * size)
            sections.append({"name": name, "type": kind, "offset": start, "size": length, "link": link, "info": info})
        strings = sections[names]["offset"]
        for section in sections:
            start = strings + section["name"]
            section["name"] = data[start:data.index(b"\0", start)].decode()
        return sections

    @staticmethod
    def _ignored(section):
        return section.startswith((".debug", ".eh_frame", ".gcc_except"))

    @staticmethod
    def _around(spans, offset):
        return next((name for start, end, name in spans if start <= offset < end), None)


def called(objects):
    """The names that are reached from what is not a function with external linkage, and from main."""
    calls = defaultdict(set)
    reached = {"main"}
    aliases = defaultdict(set)
    for number, one in enumerate(objects):
        reached |= {name for name in one.functions if re.match(r"_ZN5assay\d+\w*_reference(B5cxx11)?E", name)}
        for name, address in one.functions.items():
            aliases[(number, address)].add(name)
        for caller, targets in one.references.items():
            if caller is None:
                reached |= targets
            else:
                calls[caller] |= targets
    same = defaultdict(set)  # constructors have two names for one address
    for names in aliases.values():
        for name in names:
            same[name] |= names
    waiting = list(reached)
    while waiting:
        name = waiting.pop()
        for target in calls[name] | same[name]:
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def short_name(demangled):
    """`assay::Store::open` of `assay::Store::open(int)`; for those of a class also `Store::open`."""
    return re.sub(r"\[abi:\w+\]", "", demangled.split("(")[0]).split(" ")[-1]


def says_why(text, name):
    """Whether a header says what a function is kept for: above its declaration, beside it, or in its first comment."""
    declaration = re.compile(rf"\b{re.escape(name)}\(")
    lines = text.splitlines()
    places = [i for i, line in enumerate(lines) if declaration.search(line) and not line.lstrip().startswith("//")]
    if not places:
        return False
    first = next((i for i, line in enumerate(lines) if line.startswith("//")), len(lines))
    head = []
    for line in lines[first:]:
        if not line.startswith("//"):
            break
        head.append(line.lstrip("/ "))
    if KEPT.search(" ".join(head)):
        return True
    for place in places:
        comment, above = [lines[place]], place - 1
        while above >= 0 and (lines[above].lstrip().startswith("//") or not re.search(r"[;{}]|^\s*$", lines[above])):
            comment.insert(0, lines[above].strip().lstrip("/ "))
            above -= 1
        if KEPT.search(" ".join(comment)):
            return True
    return False


def demangled(names):
    answer = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    return dict(zip(names, answer.stdout.splitlines()))


def main():
    build = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/dev"
    paths = [path for path in sorted(build.rglob("*.cpp.o")) if not NOT_A_PROGRAM.search(str(path.relative_to(build)))]
    sources = [path for path in paths if path.relative_to(build).parts[0] in ("src", "apps")]
    if not sources:
        sys.exit(f"no object files below {build}: build it first")
    objects = [ObjectFile(path.read_bytes()) for path in paths]
    reached = called(objects)
    engine = "\n".join(p.read_text() for p in (ROOT / "engine").rglob("*") if p.suffix in (".cpp", ".h", ".cu"))
    unused = {}
    for path, one in zip(paths, objects):
        if path in sources:
            for name in one.strong - reached:
                if name.startswith("_ZN") and "5assay" in name:
                    place = str(path.relative_to(build)).replace(f"CMakeFiles/{path.parent.name}/", "").removesuffix(".o")
                    unused.setdefault(name, place)
    full = demangled(sorted(unused))
    headers = [p.read_text() for folder in ("src", "apps") for p in (ROOT / folder).rglob("*.h")]
    kept, found = set(), set()
    for name, place in unused.items():
        short = short_name(full[name])
        last = short.split("::")[-1]
        if "operator" in short or last.startswith("~") or re.search(rf"\b{re.escape(last)}\(", engine):
            continue
        (kept if any(says_why(text, last) for text in headers) else found).add((place, short))
    for title, names in (("no program calls", found), ("kept, and their headers say what for", kept)):
        print(f"{len(names)} functions: {title}")
        for place, name in sorted(names):
            print(f"  {place}: {name}")


if __name__ == "__main__":
    main()
