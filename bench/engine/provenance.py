"""Where figures come from: commit, GPU and what it did meanwhile. Everything is asked of git and nvidia-smi; what cannot
be known is None."""

import subprocess
import threading
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
LIMIT_SECONDS = 30
SAMPLE_SECONDS = 1.0
FACTS = {"gpu": "name", "gpu_uuid": "uuid", "driver": "driver_version", "power_limit_w": "power.limit",
         "power_limit_default_w": "power.default_limit", "sm_clock_max_mhz": "clocks.max.sm",
         "memory_clock_max_mhz": "clocks.max.mem"}
# Bits of clocks_event_reasons.active that hold a GPU down. The others say that it is idle or that somebody set clocks.
REASONS = {"power_cap": 0x4, "hw_slowdown": 0x8, "sw_thermal": 0x20, "hw_thermal": 0x40, "power_brake": 0x80}


def output_of(*command, **more):
    """Its standard output, or None."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, **more)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def smi(*fields):
    """Values of these fields of the first GPU, as text, or None."""
    text = output_of("nvidia-smi", "-i", "0", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits")
    values = [value.strip() for value in text.splitlines()[0].split(",")] if text else []
    return values if len(values) == len(fields) else None


def number(text):
    """None for "[N/A]" and the like."""
    try:
        return float(text)
    except ValueError:
        return None


def git_commit():
    """With "+changes" where the tree is not what was committed."""
    commit = output_of("git", "rev-parse", "HEAD", cwd=FOLDER)
    if commit is None:
        return None
    changes = output_of("git", "status", "--porcelain", "--untracked-files=no", cwd=FOLDER)
    return commit + ("+changes" if changes else "")


def facts():
    values = smi(*FACTS.values()) or [None] * len(FACTS)
    named = dict(zip(FACTS, values))
    for name, value in named.items():
        if value is not None and name.endswith(("_w", "_mhz")):
            named[name] = number(value)
    return {"commit": git_commit(), **named}


def free_bytes():
    values = smi("memory.free")
    mebibytes = number(values[0]) if values else None
    return None if mebibytes is None else int(mebibytes * 2**20)


class GpuWatch:
    """Reads the GPU once a second from `with` to its end. `summary` may be asked for at any time."""

    def __init__(self, read=smi, period=SAMPLE_SECONDS):
        self.read, self.period = read, period
        self.samples = []  # (utilisation %, SM clock MHz, power W, reasons)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def work(self):
        while not self.over.is_set():
            self.sample()
            self.over.wait(self.period)

    def sample(self):
        values = self.read("utilization.gpu", "clocks.sm", "power.draw", "clocks_event_reasons.active")
        if values is None:
            return
        try:
            reasons = int(values[3], 16)
        except ValueError:
            return
        self.samples.append((number(values[0]), number(values[1]), number(values[2]), reasons))

    def summary(self):
        """Of the samples in which the GPU was at work."""
        busy = [one for one in self.samples if one[0]]
        held = {name: sum(bool(one[3] & bit) for one in busy) / len(busy) if busy else None
                for name, bit in REASONS.items()}
        clocks = [one[1] for one in busy if one[1] is not None]
        power = [one[2] for one in busy if one[2] is not None]
        anything = sum(REASONS.values())
        return {"samples_at_work": len(busy),
                "throttle_share": sum(bool(one[3] & anything) for one in busy) / len(busy) if busy else None,
                "throttle_share_by_reason": held,
                "sm_clock_mean_mhz": sum(clocks) / len(clocks) if clocks else None,
                "power_mean_w": sum(power) / len(power) if power else None}
