"""Whether two sides learn alike: the losses of several seeds, pair by pair. No library is needed.

A difference is known only within an interval. Both sides learn alike if the whole interval lies within the tolerance;
if it lies beside zero they do not; otherwise the seeds are too few to say, and that is no pass either.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist, mean, stdev

LOSS_TOLERANCE = 0.01
# Deliberately wide: seeds of the same program leave a plateau tens of percent apart, and who gets there a quarter later
# or earlier trains the same model. A side whose gradients are wrong stays behind by much more, or for good.
STEPS_TOLERANCE = 0.25
LEVEL_WINDOW = 10
LEAST_SEEDS = 5
# A loss that has hardly moved from its start is alike whatever anybody computes: what is compared must have fallen by so
# many times the difference that is tolerated.
LEAST_FALL = 10
ONE_SIDED = 0.025  # the error of either end of a 95 % interval

NORMAL = NormalDist()

# Two-sided 95 % points of Student's t with 1, 2, … degrees of freedom.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)


def student(freedom):
    if freedom <= len(STUDENT):
        return STUDENT[freedom - 1]
    z = NORMAL.inv_cdf(1 - ONE_SIDED)
    return (z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3))


def power(seeds, deviation, tolerance):
    """How likely two sides that learn exactly alike are found so. `deviation`: of one seed's relative difference."""
    error = deviation / math.sqrt(seeds)
    room = tolerance - student(seeds - 1) * error
    return max(0.0, 2 * NORMAL.cdf(room / error) - 1)


def seeds_needed(deviation, tolerance, wanted=0.8):
    """The least number of seeds with which `power` is as wanted."""
    seeds = LEAST_SEEDS
    while power(seeds, deviation, tolerance) < wanted:
        seeds += 1
    return seeds


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
    if len(differences) < LEAST_SEEDS:
        return Finding(f"{about} ({len(differences)} seeds)", None, None, None, tolerance, "cannot tell")
    middle = mean(differences)
    reach = student(len(differences) - 1) * stdev(differences) / math.sqrt(len(differences))
    low, high = middle - reach, middle + reach
    verdict = "cannot tell"
    if -tolerance <= low and high <= tolerance:
        verdict = "alike"
    elif low > 0 or high < 0:
        verdict = "differs"
    return Finding(about, middle, low, high, tolerance, verdict)


def loss_finding(about, pairs, step, window):
    """How far the losses after `step` steps are apart; `pairs`: the curves of both sides, one pair for each seed."""
    peers = [loss_at(peer, step, window) for peer, _ in pairs]
    found = finding(about, [loss_at(our, step, window) / peer - 1 for peer, (_, our) in zip(peers, pairs)],
                    LOSS_TOLERANCE)
    fall = mean(curve[0] / loss - 1 for loss, (curve, _) in zip(peers, pairs))
    if found.verdict == "alike" and fall < LEAST_FALL * LOSS_TOLERANCE:
        return Finding(f"{about} (fallen by {fall:.1%} only)", found.difference, found.low, found.high, found.tolerance,
                       "cannot tell")
    return found


def tail(successes, trials):
    """How likely so many or more heads of a fair coin are."""
    return sum(math.comb(trials, k) for k in range(successes, trials + 1)) / 2**trials


def sign_power(seeds, likely):
    """How likely `seeds` pairs, each of which has a sign with the probability `likely`, are found to have it."""
    enough = next((k for k in range(seeds + 1) if tail(k, seeds) <= ONE_SIDED), seeds + 1)
    return sum(math.comb(seeds, k) * likely**k * (1 - likely)**(seeds - k) for k in range(enough, seeds + 1))


def later(one, other, factor, steps):
    """Whether one took more than `factor` times as many steps as the other, of which None saw no end within `steps`;
    None: nobody can know."""
    if other is None:
        return None if one is None else False
    if one is None:
        return True if steps >= factor * other else None
    return one > factor * other


def sign_finding(about, reached, steps):
    """Where not every seed gets to the level within the steps of the check, times have no mean. Alike: for so many seeds
    ours is not a quarter later, and not a quarter earlier, that a coin would hardly fall so (a sign test at either end of
    the tolerance, with 2.5 % each). Differs: so many are later, or earlier, at all. What nobody can know counts against
    either. At least six seeds can pass; of ten, nine must. `sign_power` says how likely that is."""
    factor = 1 + STEPS_TOLERANCE
    seeds = len(reached)

    def count(wanted, question):
        return sum(question(peer, our) is wanted for peer, our in reached)

    not_late = count(False, lambda peer, our: later(our, peer, factor, steps))
    not_early = count(False, lambda peer, our: later(peer, our, factor, steps))
    behind = count(True, lambda peer, our: later(our, peer, 1, steps))
    ahead = count(True, lambda peer, our: later(peer, our, 1, steps))
    about += (f" (in {steps} steps {sum(peer is not None for peer, _ in reached)} and "
              f"{sum(our is not None for _, our in reached)} of {seeds} get there)")
    verdict = "cannot tell"
    if tail(not_late, seeds) <= ONE_SIDED and tail(not_early, seeds) <= ONE_SIDED:
        verdict = "alike"
    elif min(tail(behind, seeds), tail(ahead, seeds)) <= ONE_SIDED:
        verdict = "differs"
    return Finding(about, None, None, None, STEPS_TOLERANCE, verdict)


def steps_finding(about, pairs, level, steps):
    reached = [(steps_to(level, peer), steps_to(level, our)) for peer, our in pairs]
    if any(one is None for pair in reached for one in pair):
        return sign_finding(about, reached, steps)
    return finding(about, [math.log(our / peer) for peer, our in reached], STEPS_TOLERANCE)


def incomplete(check, peers, ours):
    """In words what is missing of the losses that the check asks for; None: nothing. Seeds are settled beforehand: who
    might leave some out could choose."""
    for side, curves in (("Python", peers), ("engine", ours)):
        for seed in check.seeds:
            if seed not in curves:
                return f"{side} has no losses of seed {seed}"
            if len(curves[seed]) != check.steps:
                return f"{side} has {len(curves[seed])} of {check.steps} losses of seed {seed}"
    return None


def compare_curves(check, peers, ours):
    """`peers`, `ours`: for each seed the losses of all steps. Returns findings, one for each thing compared. ValueError
    where losses are missing."""
    if missing := incomplete(check, peers, ours):
        raise ValueError(missing)
    pairs = [(peers[seed], ours[seed]) for seed in check.seeds]
    name = f"{check.name}, " if check.name else ""
    found = [loss_finding(f"{name}loss at {step}", pairs, step, check.window) for step in check.fixed]
    if check.level is not None:
        found.append(steps_finding(f"{name}steps to {check.level}", pairs, check.level, check.steps))
    return found


def overall(findings):
    """The least favourable verdict of all."""
    for verdict in ("differs", "cannot tell"):
        if any(one.verdict == verdict for one in findings):
            return verdict
    return "alike" if findings else "not compared"
