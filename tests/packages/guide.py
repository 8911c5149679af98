"""What docs/guides/cluster.md tells people to type.

A block of shell commands is executed by guide.sh, line by line. One that cannot be has a comment in front of it, which readers of the page
do not see: `<!-- not executed: WHY -->`. Commands in the running text are held against the program's own help.
"""

import re
from dataclasses import dataclass, field

MARK = re.compile(r"<!-- not executed: (\S.*) -->")


@dataclass
class Block:
    section: str
    line: int
    reason: str = ""  # why it is not executed; empty: it is
    commands: list = field(default_factory=list)


def blocks(page):
    """The blocks of shell commands, in the order of the page. A command has one line, and no comment at its end."""
    found, section, reason, inside = [], "", "", None
    for number, text in enumerate(page.splitlines(), 1):
        if inside is not None:
            if text.startswith("```"):
                inside = None
            elif command := re.sub(r"(^|\s+)#\s.*$", "", text).strip():
                inside.commands.append(command)
        elif text.startswith("```"):
            inside = Block(section, number, reason)
            if text.strip() == "```sh":
                found.append(inside)
            reason = ""
        elif text.startswith("#"):
            section = text.lstrip("# ")
        elif mark := MARK.fullmatch(text):
            reason = mark[1]
        elif "<!-- not executed" in text:
            raise ValueError(f"line {number}: a mark stands alone in its line and says why: <!-- not executed: WHY -->")
    return found


def spoken(page):
    """Commands in the running text: (line, words of the command, its options). What is in capitals stands for something else."""
    found = []
    text = re.sub(r"```.*?```", lambda block: "\n" * block[0].count("\n"), page, flags=re.DOTALL)
    for span in re.finditer(r"`(?:runuser -u assay -- )?(assay(?:-[a-z]+)* [^`]+)`", text):
        words = span[1].split()
        path = []
        for word in words:
            if not re.fullmatch(r"assay|[a-z][a-z-]*", word) or len(path) > 2:
                break
            path.append(word)
        options = [word.split("=")[0] for word in words if re.fullmatch(r"--?[a-z][a-z-]*(=.*)?", word)]
        found.append((text.count("\n", 0, span.start()) + 1, path, options))
    return found
