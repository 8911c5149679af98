"""What is in the packages and the tarball that packaging/build.sh has made: `contents_test.py PACKAGES PROGRAM`."""

import gzip
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NAMES = ("assay", "assay-leader", "assay-agent")
packages = program = None  # from the command line


def output(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, timeout=60, **options).stdout


def package(name):
    (file,) = packages.glob(f"{name}_*.deb")
    return file


def control(name):
    """The fields of a package, without its long description."""
    return dict(re.findall(r"^([A-Z][\w-]*): (.*)$", output("dpkg-deb", "--field", package(name)), re.MULTILINE))


class Unpacked(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="assay-contents-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name in NAMES:
            output("dpkg-deb", "--raw-extract", package(name), cls.folder / name)

    def files(self, name):
        return {str(path.relative_to(self.folder / name)) for path in (self.folder / name).rglob("*") if path.is_file()}

    def test_versions_belong_together(self):
        version = control("assay")["Version"]
        for name in ("assay-leader", "assay-agent"):
            self.assertEqual(control(name)["Version"], version)
            self.assertIn(f"assay (= {version})", control(name)["Depends"])

    def test_the_version_is_that_of_the_tree(self):
        plain = re.search(r"project\(assay VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        version = control("assay")["Version"]
        self.assertRegex(version, rf"^{re.escape(plain)}([~+]git\d{{8}}\.\d{{4}}\.[0-9a-f]+)?$")
        if "~" in version:
            output("dpkg", "--compare-versions", version, "lt", plain)

    def test_the_program_needs_nothing_but_an_old_libc(self):
        depends = control("assay")["Depends"]
        needed = re.fullmatch(r"libc6 \(>= ([\d.]+)\)", depends)
        self.assertTrue(needed, depends)
        built_with = tuple(int(part) for part in os.confstr("CS_GNU_LIBC_VERSION").split()[1].split("."))
        if built_with <= (2, 36):  # Newer ones give new versions to functions that everybody calls.
            self.assertLessEqual(tuple(int(part) for part in needed[1].split(".")), (2, 34), "RHEL 9 has glibc 2.34")
        libraries = re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "--dynamic", self.folder / "assay/usr/bin/assay"))
        self.assertLessEqual(set(libraries), {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"})

    def test_the_program_is_the_one_that_was_built(self):
        installed = self.folder / "assay/usr/bin/assay"
        self.assertEqual(output(installed, "version"), output(program, "version"))
        self.assertNotIn(".symtab", output("readelf", "--sections", "--wide", installed), "not stripped")

    def test_settings_are_conffiles_and_nothing_else_is(self):
        self.assertFalse((self.folder / "assay/DEBIAN/conffiles").exists())
        for name in ("leader", "agent"):
            listed = self.folder / f"assay-{name}/DEBIAN/conffiles"
            expected = f"/etc/assay/{name}.yaml\n" if (ROOT / f"packaging/{name}.yaml").exists() else ""
            self.assertEqual(listed.read_text() if listed.exists() else "", expected)

    def test_sums_are_right_and_complete(self):
        for name in NAMES:
            output("md5sum", "--check", "--quiet", "DEBIAN/md5sums", cwd=self.folder / name)
            listed = {line.split(None, 1)[1] for line in (self.folder / name / "DEBIAN/md5sums").read_text().splitlines()}
            self.assertEqual(listed, {file for file in self.files(name) if file.startswith("usr/")})

    def test_services_have_what_systemd_and_people_need(self):
        for name in ("leader", "agent"):
            files = self.files(f"assay-{name}")
            self.assertIn(f"usr/lib/systemd/system/assay-{name}.service", files)
            tool = {"leader": "assay-leader-setup", "agent": "assay-agent-join"}[name]
            self.assertIn(f"usr/sbin/{tool}", files)
            self.assertIn(f"usr/share/man/man8/{tool}.8.gz", files)
        self.assertIn("usr/lib/sysusers.d/assay-leader.conf", self.files("assay-leader"))
        self.assertIn("usr/lib/tmpfiles.d/assay-leader.conf", self.files("assay-leader"))

    def test_maintainer_scripts_stop_at_the_first_error(self):
        for name in NAMES:
            for script in ("postinst", "prerm", "postrm"):
                file = self.folder / name / "DEBIAN" / script
                if name == "assay":
                    self.assertFalse(file.exists())
                    continue
                self.assertTrue(file.read_text().startswith("#!/bin/sh\nset -e\n"), f"{name}: {script}")
                self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o755)
                output("sh", "-n", file)

    def test_every_command_has_a_page_and_completion(self):
        pages = {Path(file).name.removesuffix(".1.gz") for file in self.files("assay") if file.startswith("usr/share/man/man1/")}
        listed = re.findall(r"^\| `assay ([a-z-]+)` \|", (ROOT / "docs/reference/commands.md").read_text(), re.MULTILINE)
        self.assertGreater(len(listed), 20)
        self.assertEqual({f"assay-{name}" for name in listed} - pages, set())
        for file in ("bash-completion/completions/assay", "zsh/vendor-completions/_assay"):
            self.assertIn("serve) options=", (self.folder / "assay/usr/share" / file).read_text(), file)

    def test_pages_say_what_the_help_says(self):
        page = gzip.decompress((self.folder / "assay/usr/share/man/man1/assay-token-create.1.gz").read_bytes()).decode()
        for text in (".SH SYNOPSIS\n.B assay token create", ".B \\-\\-role ROLE", ".BR assay\\-token (1)"):
            self.assertIn(text, page)
        if shutil.which("groff"):
            for file in sorted((self.folder / "assay/usr/share/man").rglob("*.gz")):
                said = subprocess.run(["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-z"], input=gzip.decompress(file.read_bytes()),
                                      capture_output=True, check=True).stderr.decode()
                self.assertNotRegex(said, r"macro|escape", file.name)


class Tarball(unittest.TestCase):
    """Installed into a folder, as by somebody who is not root; services are tried in systemd_test.py."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="assay-tarball-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (archive,) = packages.glob("*.tar.gz")
        output("tar", "-xzf", archive, "-C", self.folder)
        (self.script,) = self.folder.glob("*/install.sh")
        self.prefix = self.folder / "prefix"

    def test_installs_into_a_prefix_and_goes_again(self):
        said = output(self.script, "--prefix", self.prefix)
        self.assertIn(str(self.prefix / "bin/assay"), said)
        self.assertEqual(output(self.prefix / "bin/assay", "version"), output(program, "version"))
        self.assertTrue((self.prefix / "share/man/man1/assay-run.1.gz").exists())
        self.assertTrue((self.prefix / "share/bash-completion/completions/assay").exists())
        # Over a program that is running, as an upgrade is.
        output(self.script, "--prefix", self.prefix)
        output(self.script, "--prefix", self.prefix, "--uninstall")
        self.assertEqual([path for path in self.prefix.rglob("*") if path.is_file()], [])

    def test_says_what_it_cannot_do(self):
        again = subprocess.run([self.script, "--prefix", self.prefix, "--uninstall"], capture_output=True, text=True, check=False)
        self.assertEqual(again.returncode, 2)
        self.assertIn("nothing of assay was installed", again.stderr)
        if not Path("/run/systemd/system").exists():
            service = subprocess.run([self.script, "--prefix", self.prefix, "--leader"], capture_output=True, text=True, check=False)
            self.assertEqual(service.returncode, 3)
            self.assertIn("a running systemd", service.stderr)


if __name__ == "__main__":
    program = Path(sys.argv.pop()).resolve()
    packages = Path(sys.argv.pop()).resolve()
    unittest.main()
