"""Installs, uses, upgrades and removes the packages under a real systemd: `systemd_test.py PROGRAM PACKAGES SUITE`.

Skips itself, with the reason, where there can be no container. Prints GoogleTest's lines, which scripts/checks.py counts.
"""

import hashlib
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import container
import guide

BOOT_DEADLINE_S = 200
HERE = Path(__file__).resolve().parent
GUIDE = HERE.parent.parent / "docs/guides/cluster.md"
FEWEST_COMMANDS = 20
# Each boots a machine of its own; the last goes on with what the one before it has left.
SCRIPTS = ("inside.sh", "guide.sh", "trouble.sh", "elsewhere.sh")
# There is no systemd to talk to, the token was put there before, and the first start must find everything.
AS_AN_IMAGE_IS_MADE = """set -e
mkdir -p /etc/assay && echo assay-join:0 >/etc/assay/join.token
dpkg -i /shared/old/*.deb
id assay
test -L /etc/systemd/system/multi-user.target.wants/assay-leader.service
test -L /etc/systemd/system/multi-user.target.wants/assay-agent.service
dpkg -P assay-agent assay-leader assay
test ! -e /etc/assay
"""


def newer(package, folder):
    """The same package with a higher version, as an upgrade brings it."""
    tree = folder / "tree"
    subprocess.run(["dpkg-deb", "--raw-extract", package, tree], check=True)
    control = tree / "DEBIAN/control"
    version = next(line.split()[1] for line in control.read_text().splitlines() if line.startswith("Version: "))
    control.write_text(control.read_text().replace(version, version + ".1"))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", tree, folder / package.name], check=True, capture_output=True)
    shutil.rmtree(tree)


def prepare(program, packages, shared):
    version = subprocess.run([program, "version"], check=True, capture_output=True, text=True).stdout
    (shared / "version").write_text(version)
    for name in ("old", "new"):
        (shared / name).mkdir()
    for package in sorted(packages.glob("*.deb")):
        shutil.copy(package, shared / "old")
        newer(package, shared / "new")
    shutil.copy(next(packages.glob("*.tar.gz")), shared / "assay.tar.gz")
    for script in HERE.glob("*.sh"):
        shutil.copy(script, shared)
    make_certificates(shared / "tls")


def make_certificates(folder):
    """Two of one authority for the name `head`, and one of another, each with the SHA-256 that it is known by."""
    folder.mkdir()

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    for authority, names in (("house", ("first", "second")), ("others", ("stranger",))):
        openssl("req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "30", "-subj", f"/CN={authority}", "-keyout", f"{authority}.key",
                "-out", f"{authority}.crt")
        for name in names:
            openssl("req", "-newkey", "ed25519", "-nodes", "-subj", "/CN=head", "-addext", "subjectAltName=DNS:head", "-keyout", f"{name}.key",
                    "-out", f"{name}.csr")
            openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.crt", "-CAkey", f"{authority}.key", "-CAcreateserial", "-days", "20",
                    "-copy_extensions", "copy", "-out", f"{name}.crt")
            # The chain, whose end a pin of the authority names.
            chain = folder / f"{name}.crt"
            first = ssl.PEM_cert_to_DER_cert(chain.read_text())
            chain.write_text(chain.read_text() + (folder / f"{authority}.crt").read_text())
            (folder / f"{name}.sha256").write_text(hashlib.sha256(first).hexdigest())


def check_spoken(page, program):
    """Commands in the running text of the guide that the program does not know."""
    unknown = []
    for line, path, options in guide.spoken(page):
        if path[0] != "assay":
            continue  # Those of packaging/sbin are executed.
        told = subprocess.run([program, *path[1:], "--help"], capture_output=True, text=True, check=False)
        missing = [option for option in options if option not in told.stdout and option != "--data"]
        if told.returncode or missing:
            unknown.append(f"line {line}: '{' '.join(path)}' {' '.join(missing)}: {told.stderr.strip()}")
    return "\n".join(unknown)


def write_guide(page, shared):
    """Puts what is to be executed where guide.sh finds it, and says what is not."""
    lines = []
    for block in guide.blocks(page):
        if block.reason:
            print(f"not executed, line {block.line}: {', '.join(block.commands)}: {block.reason}")
        else:
            lines += [f"{block.section}|{block.line}|{command}" for command in block.commands]
    (shared / "guide").write_text("\n".join(lines) + "\n")
    return len(lines)


def check(program, packages, suite):
    """What went wrong, or nothing."""
    root = container.root_of(suite)
    container.check_boots(root)
    with tempfile.TemporaryDirectory(prefix="assay-packages-") as folder:
        shared = Path(folder)
        prepare(program, packages, shared)
        status, said = container.run_without_systemd(root, shared, AS_AN_IMAGE_IS_MADE, deadline_s=60)
        if status:
            return f"without a running systemd:\n{said}"
        page = GUIDE.read_text()
        if unknown := check_spoken(page, program):
            return f"{GUIDE.name} speaks of what there is not:\n{unknown}"
        if write_guide(page, shared) < FEWEST_COMMANDS:
            return f"{GUIDE.name} has lost its commands"
        for script in SCRIPTS:
            status, said = container.run_under_systemd(root, shared, script, BOOT_DEADLINE_S)
            print(f"# {script}\n{said}")
            if status:
                return f"the steps of {script} above did not all succeed"
        return None


def main(program, packages, suite):
    name, started = f"packages_systemd_{suite}", time.monotonic()
    try:
        problem = check(program, Path(packages), suite)
    except container.Unavailable as reason:
        print(f"{Path(__file__).name}: Skipped\n{reason}\n[  SKIPPED ] {name} (0 ms)")
        return 0
    milliseconds = int(1000 * (time.monotonic() - started))
    print(f"[  FAILED  ] {problem} ({milliseconds} ms)" if problem else f"[       OK ] {name} ({milliseconds} ms)")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
