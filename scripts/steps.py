"""Runs the steps of a build or a check with their output in a file, and shows on one line what is going on.

    python3 scripts/steps.py build PRESET [TARGET…] [-- CMAKE-OPTION…]

configures and builds a preset. On a terminal the line is rewritten in place; elsewhere one is printed every minute.
"""

import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# ninja's `[3/90] Building …` and ctest's ` 3/90 Test  #7: …`.
PROGRESS = re.compile(r"^(?:\[|\s*)(\d+)/(\d+)(?:\]| Test +#)")
TAIL_LINES = 60


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class Display:
    """What each lane is doing now. Every method may be called from any thread."""

    def __init__(self, stream=sys.stdout):
        self._stream = stream
        self._in_place = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._lanes = {}
        self._lock = threading.Lock()
        self._shown = 0
        threading.Thread(target=self._tick, daemon=True).start()

    def say(self, text=""):
        """A line that stays."""
        with self._lock:
            self._clear()
            print(text, file=self._stream, flush=True)

    def show(self, lane, text):
        """What the lane is doing; None: nothing."""
        with self._lock:
            if text is None:
                self._lanes.pop(lane, None)
            else:
                self._lanes[lane] = text

    def _tick(self):
        while True:
            time.sleep(0.2 if self._in_place else 60)
            with self._lock:
                if not self._lanes:
                    continue
                line = "   " + " · ".join(self._lanes.values())
                if self._in_place:
                    self._clear()
                    line = line[: os.get_terminal_size(self._stream.fileno()).columns - 1]
                    self._shown = len(line)
                    print(line, end="", file=self._stream, flush=True)
                else:
                    print(time.strftime("%H:%M:%S") + line, file=self._stream, flush=True)

    def _clear(self):
        if self._shown:
            print("\r\033[K", end="", file=self._stream)
            self._shown = 0


@dataclass
class Outcome:
    code: int
    seconds: float
    cpu_seconds: float
    log: Path


def run(display, lane, title, command, log, env=None, niceness=0):
    """Runs a command to its end, with its output in `log` and its progress on the display."""
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    first_progress = None
    display.show(lane, title)
    with open(log, "w", errors="replace") as out:
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **(env or {})}, text=True, errors="replace",
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   preexec_fn=lambda: os.nice(niceness))
        for line in process.stdout:
            out.write(line)
            found = PROGRESS.match(line)
            if not found:
                continue
            done, total = int(found[1]), int(found[2])
            now = time.monotonic()
            if first_progress is None:
                first_progress = now, done
            since, before = first_progress
            left = ""
            # The first ones tell little: of tests the longest go first.
            if done - before > total / 20 and now - since > 5:
                left = f", about {clock((now - since) / (done - before) * (total - done))} left"
            display.show(lane, f"{title}: {done} of {total}{left}")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    display.show(lane, None)
    return Outcome(process.returncode, time.monotonic() - started, usage.ru_utime + usage.ru_stime, log)


def configure(preset, options=(), display=None, lane=None):
    """Configures a preset, and has CMake write down its targets, their sources and dependencies, for affected.py."""
    query = ROOT / "build" / preset / ".cmake/api/v1/query/codemodel-v2"
    query.parent.mkdir(parents=True, exist_ok=True)
    query.touch()
    return run(display or Display(), lane, f"configuring {preset}", ["cmake", "--preset", preset, *options],
               ROOT / f"build/{preset}-configure.log")


def build(display, lane, preset, targets, options=(), niceness=0):
    """Configures a preset where that is needed, and builds targets of it (all of them where none are named)."""
    configured = Outcome(0, 0, 0, None)
    if options or not (ROOT / "build" / preset / "build.ninja").exists():
        configured = configure(preset, options, display, lane)
        if configured.code:
            return configured
    command = ["cmake", "--build", "--preset", preset, *(["--target", *targets] if targets else [])]
    built = run(display, lane, f"building {preset}", command, ROOT / f"build/{preset}.log", niceness=niceness)
    built.seconds += configured.seconds
    built.cpu_seconds += configured.cpu_seconds
    return built


def tail_of(log, lines=TAIL_LINES):
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def main(arguments):
    if len(arguments) < 2 or arguments[0] != "build":
        print(__doc__, file=sys.stderr)
        return 2
    targets, options = arguments[2:], []
    if "--" in targets:
        at = targets.index("--")
        targets, options = targets[:at], targets[at + 1 :]
    display = Display()
    outcome = build(display, "build", arguments[1], targets, options)
    if outcome.code:
        display.say(tail_of(outcome.log))
        print(f"assay: building '{arguments[1]}' failed; the whole output is in {outcome.log.relative_to(ROOT)}",
              file=sys.stderr)
        return 1
    display.say(f"Built {arguments[1]} in {clock(outcome.seconds)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
