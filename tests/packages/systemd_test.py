"""Installs, uses, upgrades and removes the packages under a real systemd: `systemd_test.py PROGRAM PACKAGES SUITE`.

Skips itself, with the reason, where there can be no container. Prints GoogleTest's lines, which scripts/checks.py counts.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import container

BOOT_DEADLINE_S = 150
HERE = Path(__file__).resolve().parent
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
    shutil.copy(HERE / "inside.sh", shared)


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
        status, said = container.run_under_systemd(root, shared, "inside.sh", BOOT_DEADLINE_S)
        print(said)
        return None if status == 0 else "the steps above did not all succeed"


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
