"""Signs that cannot go stale: what READMEs name is there, and what is there is named.

A folder with sources has a README.md, or the README of a folder above it names it (`procfs/`). Files that a README lists
exist; folders that stand below it are named. Links between pages lead somewhere. No type has the name of another, no header
that of another, and a header that only tests include says so.
"""

import functools
import os
import re
import unittest
from pathlib import Path

import includes

ROOT = Path(__file__).resolve().parent.parent
TOP = ("src", "apps", "engine", "tests", "bench", "scripts", "cmake", "docs", "examples", "packaging")
WITH_SIGNS = ("src", "apps", "engine", "tests", "bench", "scripts")
SOURCES = {".cpp", ".h", ".cu", ".py", ".sh"}
# A list in a README is a table whose first column is headed so.
LISTS = re.compile(r"^\|\s*(file|folder|folder or file)\s*\|", re.MULTILINE)
IN_TICKS = re.compile(r"`([^`\n]+)`")
# Of a type that a header defines in our own namespace, which all modules share.
TYPE = re.compile(r"^(?:struct|class|enum class) (\w+)(?: final)?(?: :[^;{]*)? \{", re.MULTILINE)
LONGEST_README = 45
# Names of headers that only tests include, and of files that are no part of a program.
FOR_TESTS = re.compile(r"_fixture\.h$|_contract(_\w+)?\.h$|^fake_")
IN_TESTS = re.compile(r"_(test|fuzz|fixture)\.cpp$|^(tests|bench)/|/fake_")
FILE_NAME = re.compile(r"[\w./-]+\.(?:h|cpp|cu|py|sh|cmake)")


def folders(top):
    """Folders below a top folder, itself included, without what a build or an interpreter leaves."""
    for path, names, _ in os.walk(ROOT / top):
        names[:] = sorted(n for n in names if not n.startswith((".", "build", "__pycache__", "node_modules")))
        yield Path(path)


def has_sources(folder):
    return any(file.suffix in SOURCES for file in folder.iterdir() if file.is_file())


def listed(text):
    """Plain names in the first column of the lists of a README; not those of what is to come."""
    names, inside = [], False
    for line in text.splitlines():
        if LISTS.match(line):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and "(to come)" not in line:
            names += [name for name in IN_TICKS.findall(line.split("|")[1]) if re.fullmatch(r"\w[\w./*-]*", name)]
    return names


@functools.cache
def known_tests():
    """`Suite.Test` and `Suite.*` of what is compiled."""
    sources = "".join(file.read_text() for top in ("src", "apps", "tests") for file in (ROOT / top).rglob("*") if file.suffix in (".cpp", ".h"))
    known = re.findall(r"TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", sources)
    return {f"{suite}.{test}" for suite, test in known} | {f"{suite}.*" for suite, _ in known}


def is_test(name):
    return name in known_tests() or (name.endswith((".sh", ".py")) and (ROOT / "tests/packages" / name).exists())


def unheld(page):
    """The beginnings of what names no test, and the names of tests that there are not. Blocks of shell commands are executed; a line
    that ends with a colon belongs to what follows it."""
    silent, gone = [], []
    for block in re.split(r"\n\n+", re.sub(r"^```sh\n.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)):
        mark = re.search(r"^<!-- held by: (.+?)(?:; not by a test: \S.*)? -->$", block, re.MULTILINE)
        if mark:
            gone += [name for name in mark[1].split(", ") if not is_test(name)]
        elif block.strip() and not block.startswith(("#", "<!-- not executed")) and not block.rstrip().endswith(":"):
            silent.append(block.strip()[:60])
    return silent, gone


def exists(folder, name):
    """A folder (`disk/`), a file, or the stem of one or several files (`csv` for csv.h, `render_*`)."""
    path = folder / name
    if name.endswith("/"):
        return path.is_dir()
    return path.exists() or any(folder.glob(name + ".*")) or any(folder.glob(name + "_*.*")) or any(folder.glob(name))


def readmes():
    for top in TOP:
        for folder in folders(top):
            if (folder / "README.md").exists():
                yield folder, (folder / "README.md").read_text()


class Signs(unittest.TestCase):
    def test_every_folder_with_sources_has_a_sign(self):
        def is_named_above(folder):
            for above in folder.parents:
                if above == ROOT.parent:
                    return False
                page = above / "README.md"
                if page.exists() and f"{folder.relative_to(above).as_posix()}/`" in page.read_text().replace("`,", "`"):
                    return True
            return False

        without = [str(folder.relative_to(ROOT)) for top in WITH_SIGNS for folder in folders(top)
                   if has_sources(folder) and not (folder / "README.md").exists() and not is_named_above(folder)]
        self.assertEqual(without, [], "neither a README.md nor `name/` in the README of a folder above")

    def test_what_a_readme_lists_is_there(self):
        gone = [f"{folder.relative_to(ROOT)}/README.md: {name}" for folder, text in readmes() for name in listed(text)
                if not exists(folder, name)]
        self.assertEqual(gone, [])

    def test_files_that_are_named_anywhere_in_a_readme_are_there(self):
        gone = []
        for folder, text in [*readmes(), (ROOT, (ROOT / "CONTRIBUTING.md").read_text()), (ROOT, (ROOT / "README.md").read_text())]:
            for name in IN_TICKS.findall(text):
                places = (folder, ROOT, ROOT / "src", ROOT / "engine", ROOT / "tests", ROOT / "build")
                is_path = FILE_NAME.fullmatch(name) and (folder != ROOT or name.split("/")[0] in TOP)
                if is_path and not name.startswith(("~", "/")) and not any((place / name).exists() for place in places):
                    gone.append(f"{folder.relative_to(ROOT)}: {name}")
        self.assertEqual(gone, [])

    def test_a_readme_fits_a_screen(self):
        long = [str(folder.relative_to(ROOT)) for folder, text in readmes()
                if folder.parts[len(ROOT.parts)] == "src" and text.count("\n") > LONGEST_README]
        self.assertEqual(long, [], f"more than {LONGEST_README} lines")

    def test_a_header_that_tests_alone_include_says_so_in_its_name(self):
        silent = [header for header, users in includes.reached().items()
                  if re.match(r"src/(?!store/memory/)", header) and not FOR_TESTS.search(Path(header).name)
                  and all(IN_TESTS.search(user) for user in users)]
        self.assertEqual(silent, [])

    def test_no_two_headers_have_one_name(self):
        places = {}
        for header in includes.reached():
            places.setdefault(Path(header).name, []).append(header)
        twice = [places for places in places.values() if len(places) > 1]
        self.assertEqual(twice, [])

    def test_a_readme_names_the_folders_below_it(self):
        silent = [f"{folder.relative_to(ROOT)}/README.md: {below.name}/" for folder, text in readmes()
                  for below in sorted(folder.iterdir())
                  if below.is_dir() and has_sources(below) and not below.name.startswith((".", "__")) and f"{below.name}/" not in text]
        self.assertEqual(silent, [])

    def test_the_picture_of_the_tree_shows_what_is_built(self):
        """README.md draws the modules; CMake knows them. An arrow that points up does not configure."""
        picture = (ROOT / "README.md").read_text().split("## The tree")[1].split("```")[1]
        drawn = set(re.findall(r"src/[a-z]+", picture))
        built = {f"src/{name}" for name in re.findall(r"add_subdirectory\(([a-z]+)\)", (ROOT / "src/CMakeLists.txt").read_text())}
        self.assertEqual(sorted(built - drawn), [], "not drawn")
        self.assertEqual(sorted(drawn - built), [], "drawn, and not there")

    def test_links_between_pages_lead_somewhere(self):
        dead = []
        pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
        pages += [page for top in TOP for folder in folders(top) for page in sorted(folder.glob("*.md"))]
        for page in pages:
            for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
                if not re.match(r"[a-z]+:|#", link) and not (page.parent / link.split("#")[0]).exists():
                    dead.append(f"{page.relative_to(ROOT)}: {link}")
        self.assertEqual(dead, [])

    def test_tests_that_the_page_on_security_names_are_there(self):
        named = re.findall(r"`([A-Z]\w+\.(?:\w+|\*))`", (ROOT / "docs/security.md").read_text())
        self.assertGreater(len(named), 40)
        self.assertEqual([name for name in named if not is_test(name)], [])

    def test_what_the_guide_of_clusters_says_is_held_by_tests(self):
        """Its commands are executed (tests/packages/guide.py); every other paragraph, list and table names the tests that hold it."""
        silent, gone = unheld((ROOT / "docs/guides/cluster.md").read_text())
        self.assertEqual(silent, [], "say in a comment behind it which tests hold it: <!-- held by: Suite.Test, script.sh -->")
        self.assertEqual(gone, [], "there are no such tests")

    def test_no_two_headers_define_a_type_of_one_name(self):
        # Two of one name in one program are undefined behaviour that no compiler has to notice.
        places = {}
        for top in ("src", "apps"):
            for header in sorted((ROOT / top).rglob("*.h")):
                text = header.read_text()
                if "namespace assay {" in text and not header.name.endswith(("_fixture.h", "_contract.h")):
                    for name in TYPE.findall(text):
                        places.setdefault(name, []).append(str(header.relative_to(ROOT)))
        self.assertGreater(len(places), 300)
        twice = {name: where for name, where in places.items() if len(where) > 1}
        self.assertFalse(twice, twice)


class SignsLogic(unittest.TestCase):
    def test_finds_what_names_no_test_or_one_that_is_gone(self):
        page = "# A\n\nTrue.\n<!-- held by: inside.sh, Access.* -->\n\nDo:\n\n```sh\nassay\n\nassay\n```\n\nSaid\nalone.\n"
        self.assertEqual(unheld(page), (["Said\nalone."], []))
        self.assertEqual(unheld("B\n<!-- held by: Nobody.Knows, none.sh; not by a test: x -->"), ([], ["Nobody.Knows", "none.sh"]))

    def test_reads_the_first_column_of_lists_only(self):
        text = "| file | what |\n|---|---|\n| `a` `b/` | uses `c` |\n\n| kind | when |\n|---|---|\n| `xid` | x |\n"
        self.assertEqual(listed(text), ["a", "b/"])


if __name__ == "__main__":
    unittest.main()
