"""Writes engine/formats/unicode_table.h: the letters, numbers and spaces of Unicode, as `unicodedata` of this Python
knows them.

    python3 scripts/make_unicode_table.py > engine/formats/unicode_table.h
"""

import sys
import unicodedata

OTHER, LETTER, NUMBER, SPACE = range(4)


def class_of(code):
    category = unicodedata.category(chr(code))
    # The separators, tab … carriage return and next line are exactly Unicode's White_Space, which is what `\s` means.
    if category[0] == "Z" or 0x09 <= code <= 0x0D or code == 0x85:
        return SPACE
    return {"L": LETTER, "N": NUMBER}.get(category[0], OTHER)


changes = []
previous = None
for code in range(sys.maxunicode + 1):
    current = class_of(code)
    if current != previous:
        changes.append(code << 2 | current)
        previous = current
if previous != OTHER:  # what is beyond Unicode is nothing
    changes.append((sys.maxunicode + 1) << 2 | OTHER)

print(f"""#pragma once

// Made by scripts/make_unicode_table.py from Unicode {unicodedata.unidata_version}.

#include <array>
#include <cstdint>

namespace assay::engine {{

/// Where the class changes: `first code point << 2 | class`, ascending; classes are numbered as in CharClass.
// clang-format off
inline constexpr std::array<std::uint32_t, {len(changes)}> kUnicodeClassChanges = {{""")
line = " "
for change in changes:
    entry = f" {change:#x},"
    if len(line) + len(entry) > 120:
        print(line)
        line = " "
    line += entry
print(f"""{line}
}};
// clang-format on

}}  // namespace assay::engine""")
