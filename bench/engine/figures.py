"""What was measured, and what it says: from the file that `compare.py --json` writes to rows, verdicts and tables. Knows
nothing of GPUs or processes; several files of parts are put together.

    {"provenance": [{…}, …],
     "runs": [{"workload", "side", "round", "step_seconds", …} or {"workload", "side", "round", "failure"}, …],
     "curves": [{"workload", "check", "python": {seed: losses}, "ours": {seed: losses}} or {…, "failure"}, …]}
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import learning
from workloads import WORKLOADS

PROBE_TOLERANCE = 0.02
PROBES = (("probe: bf16 matrix product", "FLOP/s", "matrix_flops_per_second"),
          ("probe: device copy", "B/s", "memory_bytes_per_second"))


@dataclass
class Row:
    workload: str
    variant: str
    unit: str
    python: float | None = None
    ours: float | None = None
    verdict: str = ""
    passed: bool = False
    learning: list = field(default_factory=list)  # findings; empty: not compared

    @property
    def ratio(self):
        return self.ours / self.python if self.ours and self.python else None


def read(paths):
    """The files as one."""
    together = {"provenance": [], "runs": [], "curves": []}
    for path in paths:
        figures = json.loads(Path(path).read_text())
        for name in together:
            together[name] += figures[name]
    return together


# --- Losses --------------------------------------------------------------------------------------------------------


def curves_of(figures, workload, check):
    """The losses of both sides by seed, from all parts. ValueError, in words, where a part failed or says the same twice."""
    peers, ours = {}, {}
    for one in figures["curves"]:
        if one["workload"] != workload.name or one["check"] != check.name:
            continue
        if "failure" in one:
            raise ValueError(one["failure"])
        for side, curves in ((peers, one["python"]), (ours, one["ours"])):
            for seed, losses in curves.items():
                if int(seed) in side:
                    raise ValueError(f"the losses of seed {seed} are there twice")
                side[int(seed)] = losses
    return peers, ours


def findings_of(figures, workload):
    """Findings, and in words why they are not all (None: they are). Nothing at all: losses were not compared."""
    asked = {one["check"] for one in figures["curves"] if one["workload"] == workload.name}
    if not asked:
        return None, None
    findings, problem = [], None
    for check in workload.learning:
        about = f"{check.name}: " if check.name else ""
        if check.name not in asked:
            problem = problem or f"{about}not compared"
            continue
        try:
            findings += learning.compare_curves(check, *curves_of(figures, workload, check))
        except ValueError as missing:
            problem = problem or f"{about}{missing}"
    return findings, problem


# --- Speed ---------------------------------------------------------------------------------------------------------


def measured(figures, workload, side):
    """The median of all rounds, or in words why there is none."""
    runs = [one for one in figures["runs"] if one["workload"] == workload.name and one["side"] == side]
    failures = [one["failure"] for one in runs if "failure" in one]
    if failures or not runs:
        return failures[0] if failures else "not measured"
    return {**runs[0], "figure": median(workload.figure(one["step_seconds"]) for one in runs)}


def judge(workload, variant, peer, ours, findings, problem=None):
    """A row of the table; `peer` and `ours` as `measured` gives them, `findings` and `problem` as `findings_of` does."""
    row = Row(workload.name, variant, workload.unit, learning=findings or [])
    if isinstance(peer, dict):
        row.python = peer["figure"]
    if isinstance(ours, dict):
        row.ours = ours["figure"]
    for side, one in (("Python", peer), ("engine", ours)):
        if not isinstance(one, dict):
            row.verdict = f"{side} failed: {one}"
            return row
    for count in ("parameters", "trainable_parameters"):
        if peer[count] != ours[count]:
            row.verdict = f"other model ({count} {peer[count]}, ours {ours[count]}): does not count"
            return row
    ahead = row.ratio >= 1
    row.verdict = "ahead" if ahead else "behind"
    row.passed = ahead or variant != workload.variants[0]
    if findings is None:
        row.verdict += ", losses not compared"
        return row
    reason = why_not_alike(findings, problem)
    if reason:
        row.verdict, row.passed = f"{reason}: does not count", False
    return row


def why_not_alike(findings, problem):
    """In words; None: they learn alike."""
    alike = learning.overall(findings)
    if alike == "differs":
        return "learns otherwise"
    if problem:
        return f"losses: {problem}"
    return None if alike == "alike" else "cannot tell whether it learns alike"


def judge_probe(name, unit, metric, peers, ours):
    row = Row(name, "torch", unit)
    for side, runs in (("Python", peers), ("engine", ours)):
        failures = [one["failure"] for one in runs if "failure" in one]
        if failures or not runs:
            row.verdict = f"{side} failed: {failures[0] if failures else 'not measured'}"
            return row
    row.python = median(one[metric] for one in peers)
    row.ours = median(one[metric] for one in ours)
    row.passed = abs(row.ratio - 1) <= PROBE_TOLERANCE
    row.verdict = "agrees" if row.passed else f"differs by more than {PROBE_TOLERANCE:.0%}"
    return row


def rows_of(figures):
    """A row for each variant that was measured, or for each workload of which there are losses alone."""
    rows = []
    probes = [one for one in figures["runs"] if one["workload"] == "probe"]
    if probes:
        for name, unit, metric in PROBES:
            rows.append(judge_probe(name, unit, metric, [one for one in probes if one["side"] == "torch"],
                                    [one for one in probes if one["side"] == "engine"]))
    for workload in WORKLOADS:
        findings, problem = findings_of(figures, workload)
        sides = {one["side"] for one in figures["runs"] if one["workload"] == workload.name}
        if not sides and findings is not None:
            reason = why_not_alike(findings, problem)
            rows.append(Row(workload.name, workload.learning_variant or workload.variants[0], workload.unit,
                            verdict=reason or "alike", passed=reason is None, learning=findings))
        for variant in workload.variants:
            if variant in sides:
                rows.append(judge(workload, variant, measured(figures, workload, variant),
                                  measured(figures, workload, "engine"), findings, problem))
    return rows


# --- Tables --------------------------------------------------------------------------------------------------------


def readable(value, unit):
    if value is None:
        return "–"
    for factor, prefix in ((1e12, "T"), (1e9, "G")):
        if value >= factor:
            return f"{value / factor:.4g} {prefix}{unit}"
    return f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.3g} {unit}"


def table(rows):
    lines = [["workload", "Python", "Python's figure", "ours", "ratio", "losses", "verdict"]]
    for row in rows:
        lines.append([row.workload, row.variant, readable(row.python, row.unit), readable(row.ours, row.unit),
                      "–" if row.ratio is None else f"{row.ratio:.3g} ×",
                      learning.overall(row.learning) if row.learning else "–", row.verdict])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]) - 1)]
    return "\n".join("  ".join([*(cell.ljust(width) for cell, width in zip(line, widths)), line[-1]]) for line in lines)


def details(rows):
    """Every finding, once a workload."""
    told = {row.workload: row for row in rows}.values()
    return "\n".join(f"{row.workload}: {one}" for row in told for one in row.learning)


def markdown(figures):
    """The README's table: a line for each workload, eager variants before compiled ones, the fastest in bold."""
    lines = ["| training | PyTorch eager | torch.compile | assay-engine | learning |", "|---|---|---|---|---|"]
    rows = rows_of(figures)
    for workload in WORKLOADS:
        own = {row.variant: row for row in rows if row.workload == workload.name}
        if not own:
            continue
        some = next(iter(own.values()))
        best = max([some.ours or 0, *(row.python or 0 for row in own.values())])

        def cell(variants):
            texts = []
            for variant in variants:
                if variant in own and own[variant].python:
                    named = "" if variant in (workload.variants[0], "torch.compile") else f"{variant} "
                    texts.append(named + emphasised(own[variant].python, best, workload.unit))
            return ", ".join(texts) or "–"

        compiled = workload.variants.index("torch.compile")
        ours = emphasised(some.ours, best, workload.unit) if some.ours else "–"
        lines.append(f"| {workload.title} | {cell(workload.variants[:compiled])} | {cell(workload.variants[compiled:])} | "
                     f"{ours} | {learnt(*findings_of(figures, workload))} |")
    lines += ["", *(about(one) for one in figures["provenance"])]
    return "\n".join(lines)


def emphasised(value, best, unit):
    text = readable(value, unit)
    return f"**{text}**" if value == best else text


def learnt(findings, problem):
    if findings is None:
        return "not compared"
    told = "; ".join(map(str, findings))
    reason = why_not_alike(findings, problem)
    return f"{reason or 'alike'}{': ' if told else ''}{told}"


def about(provenance):
    """One line of where a file's figures come from."""
    share = provenance.get("throttle_share")
    held = "unknown" if share is None else f"{share:.0%}"
    told = {"GPU": provenance.get("gpu"), "power limit": provenance.get("power_limit_w"), "driver": provenance.get("driver"),
            "PyTorch": provenance.get("torch"), "commit": provenance.get("commit"), "held down": f"{held} of the time at work",
            "our side changed": provenance.get("engine_changes") or None}
    return ", ".join(f"{name} {value}" for name, value in told.items() if value is not None)
