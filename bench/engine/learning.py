"""Whether two sides learn alike: the losses of several seeds, pair by pair. No library is needed.

A difference is known only within an interval. Both sides learn alike if the whole interval lies within the tolerance;
if it lies beside zero they do not; otherwise the seeds are too few to say, and that is no pass either.
"""

import math
from dataclasses import dataclass
from statistics import mean, stdev

LOSS_TOLERANCE = 0.01
STEPS_TOLERANCE = 0.25  # seeds leave a plateau tens of percent apart
LEVEL_WINDOW = 10

# Two-sided 95 % points of Student's t with 1, 2, … degrees of freedom.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)


@dataclass(frozen=True)
class Finding:
    about: str
    difference: float | None  # mean over seeds, relative
    low: float | None
    high: float | None
    tolerance: float
    verdict: str  # alike | differs | cannot tell

    def __str__(self):
        if self.difference is None:
            return f"{self.about}: {self.verdict}"
        return f"{self.about} {self.difference:+.2%} ({self.low:+.2%} … {self.high:+.2%}): {self.verdict}"


def loss_at(curve, step, window):
    """The mean of the last `window` of the first `step` losses."""
    values = curve[:step][-window:]
    return sum(values) / len(values)


def steps_to(level, curve):
    """How many steps until the mean of the last few losses is at most `level`; None: never."""
    for end in range(LEVEL_WINDOW, len(curve) + 1):
        if sum(curve[end - LEVEL_WINDOW:end]) / LEVEL_WINDOW <= level:
            return end
    return None


def finding(about, differences, tolerance):
    """`differences`: one for each seed."""
    if not all(math.isfinite(one) for one in differences):
        return Finding(about, None, None, None, tolerance, "differs")
    if len(differences) < 2:
        return Finding(about, None, None, None, tolerance, "cannot tell")
    middle = mean(differences)
    reach = STUDENT[min(len(differences) - 1, len(STUDENT)) - 1] * stdev(differences) / math.sqrt(len(differences))
    low, high = middle - reach, middle + reach
    verdict = "cannot tell"
    if -tolerance <= low and high <= tolerance:
        verdict = "alike"
    elif low > 0 or high < 0:
        verdict = "differs"
    return Finding(about, middle, low, high, tolerance, verdict)


def compare_curves(check, peers, ours):
    """`peers`, `ours`: for each seed the losses of all steps. Returns findings, one for each thing compared."""
    pairs = [(peers[seed], ours[seed]) for seed in sorted(peers) if seed in ours]
    name = f"{check.name}, " if check.name else ""
    found = []
    for step in check.fixed:
        differences = [loss_at(our, step, check.window) / loss_at(peer, step, check.window) - 1 for peer, our in pairs]
        found.append(finding(f"{name}loss at {step}", differences, LOSS_TOLERANCE))
    if check.level is not None:
        about = f"{name}steps to {check.level}"
        reached = [(steps_to(check.level, peer), steps_to(check.level, our)) for peer, our in pairs]
        if any(steps is None for pair in reached for steps in pair):
            late = sum(our is None and peer is not None for peer, our in reached)
            found.append(Finding(about + " (not all get there)", None, None, None, STEPS_TOLERANCE,
                                 "differs" if late > len(reached) / 2 else "cannot tell"))
        else:
            found.append(finding(about, [math.log(our / peer) for peer, our in reached], STEPS_TOLERANCE))
    return found


def overall(findings):
    """The least favourable verdict of all."""
    for verdict in ("differs", "cannot tell"):
        if any(one.verdict == verdict for one in findings):
            return verdict
    return "alike" if findings else "not compared"
