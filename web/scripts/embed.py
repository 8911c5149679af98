#!/usr/bin/env python3
"""Writes the files of a built dashboard as C++: embed.py OUT.cpp [FOLDER]

Without a folder the table is empty. The same files give the same bytes.
"""

import gzip
import hashlib
import sys
from pathlib import Path

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".woff2": "font/woff2",
    ".png": "image/png",
}
HEAD = """// Made by web/scripts/embed.py while building. Do not edit.
#include "dashboard/embedded_files.h"

#include <array>

namespace assay {
"""


def literal(content):
    """Octal escapes of three digits: what follows cannot become part of them."""
    lines = []
    for at in range(0, len(content), 96):
        lines.append('"' + "".join(f"\\{byte:03o}" for byte in content[at : at + 96]) + '"')
    return "\n    ".join(lines) or '""'


def entry(folder, file):
    content = file.read_bytes()
    path = file.relative_to(folder).as_posix()
    if file.suffix not in TYPES:
        sys.exit(f"embed.py: {path}: the type of '{file.suffix}' is not known; add it to TYPES")
    tag = hashlib.sha256(content).hexdigest()[:32]
    packed = gzip.compress(content, 9, mtime=0)
    return f'  DashboardFile{{"{path}", "{TYPES[file.suffix]}", "\\"{tag}\\"", std::string_view(\n    {literal(packed)}, {len(packed)})}}'


def main():
    out = Path(sys.argv[1])
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    files = sorted(one for one in folder.rglob("*") if one.is_file()) if folder else []
    text = HEAD
    if files:
        entries = ",\n".join(entry(folder, one) for one in files)
        text += f"namespace {{\nconst std::array<DashboardFile, {len(files)}> kEmbeddedFiles = {{\n{entries}}};\n}}  // namespace\n\n"
        text += "std::span<const DashboardFile> embedded_dashboard() { return kEmbeddedFiles; }\n"
    else:
        text += "std::span<const DashboardFile> embedded_dashboard() { return {}; }\n"
    text += "}  // namespace assay\n"
    if not out.exists() or out.read_text() != text:
        out.write_text(text)


main()
