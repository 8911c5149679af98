"""A Debian with a real systemd as its first process, in a container that starts within a second and leaves nothing.

The root file system is made once by mmdebstrap and kept in the cache folder of the user; containers see it through an
overlay in memory, so that no test changes it.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

BOOTSTRAP_DEADLINE_S = 540
PROBE_DEADLINE_S = 60
# What nspawn of Debian 12 keeps from its guests although it is harmless; agents confine runs with it.
LANDLOCK = "landlock_add_rule landlock_create_ruleset landlock_restrict_self"


class Unavailable(Exception):
    """Why there can be no container here."""


def root_of(suite, purpose="", options=(), deadline_s=BOOTSTRAP_DEADLINE_S):
    """The cached root file system of a release of Debian; made where it is missing. `purpose` names one that is made
    with further options of mmdebstrap."""
    if os.geteuid() != 0:
        raise Unavailable("containers need root")
    for tool in ("systemd-nspawn", "mmdebstrap"):
        if not shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
            raise Unavailable(f"there is no {tool} here")
    roots = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay" / "roots"
    root = roots / (suite + purpose)
    if root.is_dir():
        return root
    roots.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f"{suite}-", dir=roots))
    try:
        # In namespaces of its own: whenever it ends, so do its children and its mounts.
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "mmdebstrap", "--quiet",
                               "--variant=minbase", "--include=systemd,systemd-sysv,dbus", *options, suite, str(made)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=deadline_s, check=False)
        if done.returncode:
            raise Unavailable(f"mmdebstrap {suite} ended with {done.returncode}: {done.stdout.strip()[-200:]}")
        # Else every container would bear the name of this machine.
        (made / "etc/hostname").unlink(missing_ok=True)
        made.chmod(0o755)
        if not root.is_dir():  # Another test may have been quicker.
            made.rename(root)
    except subprocess.TimeoutExpired as late:
        raise Unavailable(f"mmdebstrap {suite} took more than {deadline_s} s") from late
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return root


def check_boots(root):
    """Raises Unavailable where nspawn cannot start systemd, as in a container or chroot that lacks rights or cgroups."""
    with tempfile.TemporaryDirectory(prefix="assay-boot-") as folder:
        shared = Path(folder)
        (shared / "nothing.sh").write_text("exit 0\n")
        status, said = run_under_systemd(root, shared, "nothing.sh", PROBE_DEADLINE_S)
        if status:
            raise Unavailable(f"systemd-nspawn cannot start systemd here: {' '.join(said.split())[-300:]}")


def _nspawn(root, shared, *arguments):
    return ["systemd-nspawn", "--quiet", f"--directory={root}", "--volatile=overlay", "--register=no", "--keep-unit", "--link-journal=no",
            "--private-network", "--console=pipe", "--hostname=head", f"--system-call-filter={LANDLOCK}", f"--bind={shared}:/shared",
            *arguments]


def _run(command, deadline_s):
    """Runs nspawn to its end, at most so long. Its exit status, and what it printed."""
    # If this process is killed, nspawn shuts the container down.
    process = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace")
    try:
        said, _ = process.communicate(timeout=deadline_s)
        return process.returncode, said
    except subprocess.TimeoutExpired:
        return 124, f"the container was ended after {deadline_s} s"
    finally:
        _end(process)


def _end(process):
    """Ends a container with all its processes: they go with its first one, which outlives nspawn if only that is killed."""
    if process.poll() is not None:
        return
    with contextlib.suppress(OSError):  # It may end by itself meanwhile.
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
    process.communicate(timeout=30)


def run_without_systemd(root, shared, command, deadline_s, *options):
    """Runs a shell command in the root as in a chroot: nothing else runs there. Its exit status and output. `options`
    are further ones of systemd-nspawn."""
    return _run(_nspawn(root, shared, *options, "--as-pid2", "/bin/sh", "-c", command), deadline_s)


def run_under_systemd(root, shared, script, deadline_s):
    """Boots, runs a script of the shared folder, and powers off. The script's exit status, and all that it printed."""
    log, status = shared / "log", shared / "status"
    status.unlink(missing_ok=True)
    unit = shared / "assay-test.service"
    unit.write_text("[Unit]\nDescription=What is tested\n[Service]\nType=oneshot\n"
                    f"ExecStart=/bin/sh -c '/bin/sh /shared/{script} >/shared/log 2>&1; echo $? >/shared/status'\n"
                    "ExecStopPost=/bin/systemctl --no-block poweroff\n")
    command = _nspawn(root, shared, f"--bind-ro={unit}:/etc/systemd/system/{unit.name}", "--boot", "--", f"systemd.wants={unit.name}")
    _, said = _run(command, deadline_s)
    if not status.exists():
        return 1, f"{log.read_text(errors='replace') if log.exists() else ''}\n{said}"
    return int(status.read_text()), log.read_text(errors="replace")
