"""Writes manual pages from what programs say about themselves: `manpages.py OUT assay VERSION [TOOL…]`.

A page for `assay`, for each command and for each command of a command (section 1), and one for each further tool
(section 8); all of them print their help in the form of CLI11.
"""

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

COMMAND = re.compile(r"[a-z][a-z-]*")
DEADLINE_S = 20


@dataclass
class Section:
    title: str
    entries: list = field(default_factory=list)  # (name, text)


@dataclass
class Help:
    """What `--help` prints, taken apart."""

    about: str
    usage: str
    sections: list
    footer: list  # lines

    def commands(self):
        if "SUBCOMMAND" not in self.usage:
            return []
        return [name for section in self.sections if section.title != "Positionals"
                for name, _ in section.entries if COMMAND.fullmatch(name)]


def parsed(text):
    lines = text.rstrip().splitlines()
    usage_at = next(at for at, line in enumerate(lines) if line.startswith("Usage: "))
    page = Help(" ".join(lines[:usage_at]).strip(), lines[usage_at].removeprefix("Usage: "), [], [])
    at = usage_at + 1
    while at < len(lines):
        heading = re.fullmatch(r"([A-Z][\w ]*):", lines[at])
        if not lines[at].strip():
            at += 1
        elif heading and heading[1] != "Examples":
            section, at = entries_of(heading[1], lines, at + 1)
            page.sections.append(section)
        else:
            page.footer = lines[at:]
            break
    return page


def entries_of(title, lines, at):
    """The entries below a heading: a name, and its text in a column further right or on the next lines."""
    section = Section(title)
    while at < len(lines) and lines[at].startswith("  "):
        line = lines[at].strip()
        if re.match(r" {8}", lines[at]) and section.entries:
            name, text = section.entries[-1]
            section.entries[-1] = (name, f"{text} {line}".strip())
        else:
            name, _, text = re.sub(r" {2,}", "\t", line, count=1).partition("\t")
            section.entries.append((name, text))
        at += 1
    return section, at


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga")
    return "\\&" + text if text.startswith((".", "'")) else text


def page_of(names, number, page, see_also, version, date):
    title = "-".join(names)
    out = [f'.TH "{title.upper()}" "{number}" "{date}" "assay {version}" "Assay"',
           ".SH NAME", f"{escaped(title)} \\- {escaped(page.about.split('. ')[0].rstrip('.'))}",
           ".SH SYNOPSIS", f".B {escaped(page.usage)}", ".SH DESCRIPTION", escaped(page.about)]
    for section in page.sections:
        out += [f'.SH "{section.title.upper()}"']
        for name, text in section.entries:
            out += [".TP", f".B {escaped(name)}", escaped(text)]
    if page.footer:
        out += [".SH NOTES", ".nf", *(escaped(line) for line in page.footer), ".fi"]
    if see_also:
        out += [".SH SEE ALSO", ",\n".join(f".BR {escaped(other)} ({section})" for other, section in see_also).replace(",\n", " ,\n")]
    return "\n".join(out) + "\n"


def help_of(command):
    return parsed(subprocess.run([*command, "--help"], check=True, capture_output=True, text=True, timeout=DEADLINE_S,
                                 env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}).stdout)


def pages_of(program, names):
    """(names, help, see also) of a command and, after it, of its commands."""
    page = help_of([program, *names[1:]])
    below = [[*names, command] for command in page.commands()]
    above = [("-".join(names[:-1]), 1)] if len(names) > 1 else []
    yield names, page, above + [("-".join(other), 1) for other in below]
    for other in below:
        yield from pages_of(program, other)


def write_pages(out, program, version, tools):
    date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    pages = [(names, 1, page, see_also) for names, page, see_also in pages_of(program, ["assay"])]
    pages += [([Path(tool).name], 8, help_of([tool]), [("assay", 1)]) for tool in tools]
    for names, number, page, see_also in pages:
        folder = Path(out) / f"man{number}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{'-'.join(names)}.{number}").write_text(page_of(names, number, page, see_also, version, date))
    return len(pages)


if __name__ == "__main__":
    write_pages(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
