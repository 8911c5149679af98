"""Which source files a header reaches, by their `#include "…"` lines: what is compiled again when it changes."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOP = ("src", "apps", "bench", "tests")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def reached(root=ROOT, tops=TOP):
    """By header (its path below `root`): the .cpp files that include it, directly or not."""
    texts = {file.relative_to(root).as_posix(): file.read_text() for top in tops for file in (root / top).rglob("*")
             if file.suffix in (".h", ".cpp")}

    def found(name, beside):
        places = (f"src/{name}", (Path(beside).parent / name).as_posix(), f"tests/{name}", f"engine/{name}")
        return next((place for place in places if place in texts), None)

    included = {file: {found(name, file) for name in INCLUDE.findall(text)} - {None} for file, text in texts.items()}
    users = {file: set() for file in texts if file.endswith(".h")}
    for file in texts:
        if not file.endswith(".cpp"):
            continue
        seen, waiting = set(), [file]
        while waiting:
            for header in included[waiting.pop()] - seen:
                seen.add(header)
                waiting.append(header)
                users[header].add(file)
    return users
