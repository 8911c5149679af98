"""The engine's throughput beside the same models in Python, both measured here and now. README.md says what counts.

    python3 bench/engine/compare.py [--engine PATH] [--only NAME]... [--part speed|learning] [--check NAME]... [--quick]
                                    [--json FILE]

Exit codes: 0 ahead of eager Python everywhere and learning alike, 1 behind somewhere, learning otherwise, or something
failed, 2 wrong arguments, 3 no GPU or no PyTorch here.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

import data
import learning
from workloads import WORKLOADS

FOLDER = Path(__file__).resolve().parent
ROUNDS = 2
RUN_LIMIT_SECONDS = 600
PROBE_TOLERANCE = 0.02


class Failed(Exception):
    """A run that gave no figure; the message is for people."""


@dataclass
class Row:
    workload: str
    variant: str
    unit: str
    python: float | None
    ours: float | None
    verdict: str
    passed: bool
    learning: list = field(default_factory=list)  # findings; empty: not compared

    @property
    def ratio(self):
        return self.ours / self.python if self.ours and self.python else None


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def run(command, environment=None):
    try:
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=RUN_LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        raise Failed(f"not done after {RUN_LIMIT_SECONDS} s") from None
    except OSError as error:
        raise Failed(str(error)) from None


def run_peer(*arguments):
    done = run([sys.executable, str(FOLDER / "peer.py"), *map(str, arguments)])
    if done.returncode != 0:
        raise Failed(last_line(done.stderr)[:300])
    return json.loads(last_line(done.stdout))


def run_engine(engine, spec, folder):
    """Trains and returns the measurement under the peer's names."""
    spec_file, events_file = folder / "spec.json", folder / "events.jsonl"
    spec_file.write_text(json.dumps(spec))
    events_file.unlink(missing_ok=True)
    done = run([str(engine), "train", "--spec", str(spec_file)], {**os.environ, "ASSAY_EVENTS": f"file:{events_file}"})
    return read_events(events_file.read_text() if events_file.exists() else "", done)


def read_events(text, done):
    hello, losses, metrics, error = {}, [], None, None
    for line in text.splitlines():
        event = json.loads(line)
        if event["type"] == "hello":
            hello = event
        elif event["type"] == "steps":
            losses += [math.nan if loss is None else loss for loss in event["loss"]]
        elif event["type"] == "error":
            error = error or f"{event['kind']}: {event['message']}"
        elif event["type"] == "result":
            metrics = event["metrics"]
    if done.returncode != 0 or metrics is None:
        raise Failed(error or f"exit code {done.returncode}: {last_line(done.stderr)}")
    kept = ("samples_per_second", "tokens_per_second", "step_seconds", "final_loss", "gpu_memory_peak_bytes",
            "loss_scale", "skipped_steps")
    return {**{name: metrics.get(name) for name in kept},
            "losses": losses,
            "steps": metrics["steps_done"],
            "parameters": hello.get("parameters"),
            "trainable_parameters": hello.get("trainable_parameters")}


def figure_of(measurement, metric):
    return 1 / measurement["step_seconds"] if metric == "steps_per_second" else measurement[metric]


def summary(measurement):
    if "step_seconds" not in measurement:
        return "done"
    scale = measurement.get("loss_scale")
    return f"{1000 * measurement['step_seconds']:.4g} ms a step" + (f", loss scale {scale:g}" if scale else "")


def combined(measurements, metric):
    """Several rounds as one: medians."""
    return {**measurements[0], "figure": median(figure_of(measurement, metric) for measurement in measurements)}


def judge(workload, variant, peer, ours, findings):
    """A row of the table; `peer` and `ours` are combined measurements or why there is none, `findings` how both learn
    (or why nobody knows; None: not asked for)."""
    row = Row(workload.name, variant, workload.unit, None, None, "", False)
    if isinstance(peer, dict):
        row.python = peer["figure"]
    if isinstance(ours, dict):
        row.ours = ours["figure"]
    for side, measured in (("Python", peer), ("engine", ours)):
        if not isinstance(measured, dict):
            row.verdict = f"{side} failed: {measured}"
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
    if isinstance(findings, str):
        row.verdict, row.passed = f"losses: {findings}: does not count", False
        return row
    row.learning = findings
    alike = learning.overall(findings)
    if alike != "alike":
        row.verdict = ("learns otherwise" if alike == "differs" else "too few seeds to say") + ": does not count"
        row.passed = False
    return row


class Comparison:
    def __init__(self, engine, folder, options):
        self.engine = engine
        self.folder = folder
        self.rounds = 1 if options.quick else options.rounds
        self.quick = options.quick
        self.steps = options.steps
        self.parts = {options.part} if options.part else {"speed"} if options.quick else {"speed", "learning"}
        self.checks = options.check
        self.engine_changes = options.engine_changes
        self.runs = []
        self.curves = []

    def attempt(self, label, number, work, *arguments):
        """A measurement, or in words why there is none."""
        print(f"  {label}, round {number + 1} of {self.rounds} …", end=" ", file=sys.stderr, flush=True)
        try:
            measurement = work(*arguments)
        except Failed as failure:
            print(f"failed: {failure}", file=sys.stderr)
            return str(failure)
        except (ValueError, KeyError, TypeError) as error:  # what it wrote is not what it should be
            print(f"failed: {error!r}", file=sys.stderr)
            return f"unreadable result: {error!r}"
        self.runs.append({"side": label, "round": number + 1, **measurement})
        print(summary(measurement), file=sys.stderr)
        return measurement

    def compare(self, workload):
        findings = self.compare_learning(workload) if "learning" in self.parts else None
        if "speed" not in self.parts:
            outcome = findings if isinstance(findings, str) else learning.overall(findings)
            return [Row(workload.name, workload.learning_variant or workload.variants[0], workload.unit, None, None,
                        outcome, outcome == "alike", findings if isinstance(findings, list) else [])]
        variants = workload.variants[:workload.quick_variants] if self.quick else workload.variants
        contestants = [variants[0], "engine", *variants[1:]]
        measured = {name: [] for name in contestants}
        failures = {}
        for number in range(self.rounds):
            for name in contestants:
                if name in failures:
                    continue
                train = self.train_engine if name == "engine" else self.train_peer
                outcome = self.attempt(f"{workload.name}, {name}", number, train, workload, name)
                if isinstance(outcome, dict):
                    measured[name].append(outcome)
                else:
                    failures[name] = outcome
        result = {name: failures.get(name) or combined(measured[name], workload.metric) for name in contestants}
        return [judge(workload, variant, result[variant], result["engine"], findings) for variant in variants]

    def steps_of(self, workload):
        return self.steps or (workload.quick_steps if self.quick else workload.steps)

    def text_file(self, workload, name="triples"):
        if not workload.reads_text:
            return None
        file = self.folder / f"{name}.txt"
        if not file.exists():
            file.write_bytes(data.TEXTS[name]())
        return file

    def train_peer(self, workload, variant):
        arguments = [workload.name, "--variant", variant, "--steps", self.steps_of(workload)]
        if text := self.text_file(workload):
            arguments += ["--text", text]
        return run_peer(*arguments)

    def train_engine(self, workload, _):
        spec = workload.engine_spec(self.steps_of(workload), self.text_file(workload))
        return run_engine(self.engine, spec, self.folder)

    def compare_learning(self, workload):
        """Findings of all checks, or in words why there are none."""
        findings = []
        for check in workload.learning:
            if self.checks and check.name not in self.checks:
                continue
            print(f"  {workload.name}, losses of {len(check.seeds)} seeds{', ' if check.name else ''}"
                  f"{check.name} …", file=sys.stderr, flush=True)
            try:
                peers, ours = self.curves_of(workload, check)
            except (Failed, ValueError, KeyError, TypeError) as failure:
                print(f"    failed: {failure}", file=sys.stderr)
                return str(failure)
            self.curves.append({"workload": workload.name, "check": check.name, "python": peers, "ours": ours})
            found = learning.compare_curves(check, peers, ours)
            for one in found:
                print(f"    {one}", file=sys.stderr, flush=True)
            findings += found
        return findings

    def curves_of(self, workload, check):
        """Python trains all seeds in one process; the engine follows, each seed as soon as its start is there."""
        text = self.text_file(workload, check.text)
        starts = Path(tempfile.mkdtemp(dir=self.folder))
        command = [sys.executable, str(FOLDER / "peer.py"), workload.name, "--steps", str(check.steps), "--variant",
                   workload.learning_variant or workload.variants[0], "--learn", ",".join(map(str, check.seeds)),
                   "--starts", str(starts), "--changes", json.dumps(check.changes), *(["--text", str(text)] if text else [])]
        errors = (starts / "errors").open("w+")
        peer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            with ThreadPoolExecutor(check.at_a_time) as pool:
                curves = pool.map(lambda seed: self.engine_curve(workload, check, seed, starts, peer), check.seeds)
                ours = dict(zip(check.seeds, curves))
            output, _ = peer.communicate(timeout=RUN_LIMIT_SECONDS)
            if peer.returncode != 0:
                errors.seek(0)
                raise Failed(last_line(errors.read())[:300])
            return {int(seed): curve for seed, curve in json.loads(last_line(output))["curves"].items()}, ours
        except subprocess.TimeoutExpired:
            raise Failed(f"Python was not done after {RUN_LIMIT_SECONDS} s") from None
        finally:
            if peer.poll() is None:
                peer.kill()
                peer.wait()
            peer.stdout.close()
            errors.close()
            shutil.rmtree(starts, ignore_errors=True)

    def engine_curve(self, workload, check, seed, starts, peer):
        start = starts / f"{workload.name}-{seed}.index.json"
        limit = time.monotonic() + RUN_LIMIT_SECONDS
        while not start.exists():
            ended = peer.poll() is not None and not start.exists()
            if ended or time.monotonic() > limit:
                raise Failed("Python wrote no start: " + last_line((starts / "errors").read_text())[:300])
            time.sleep(0.1)
        text = self.text_file(workload, check.text)
        changed = workload.changed(check.changes).changed(self.engine_changes)
        spec = changed.engine_spec(check.steps, text, start, seed)
        own = starts / f"{seed}"
        own.mkdir()
        losses = run_engine(self.engine, spec, own)["losses"]
        (starts / f"{workload.name}-{seed}.safetensors").unlink()
        return losses

    def probe_engine(self):
        done = run([str(self.engine), "probe", "--json"])
        if done.returncode != 0:
            raise Failed(last_line(done.stderr)[:300])
        result = json.loads(done.stdout)["result"]
        return {"matrix_flops_per_second": result["matrix_flops_per_second"]["bf16"],
                "memory_bytes_per_second": result["memory_bytes_per_second"]}

    def probe(self):
        """The engine's ceilings of this machine beside PyTorch's own."""
        peers, ours = [], []
        for number in range(self.rounds):
            peers.append(self.attempt("probe, torch", number, run_peer, "probe"))
            ours.append(self.attempt("probe, engine", number, self.probe_engine))
        return [judge_probe("probe: bf16 matrix product", "FLOP/s", "matrix_flops_per_second", peers, ours),
                judge_probe("probe: device copy", "B/s", "memory_bytes_per_second", peers, ours)]


def judge_probe(name, unit, metric, peers, ours):
    row = Row(name, "torch", unit, None, None, "", False)
    for side, measured in (("Python", peers), ("engine", ours)):
        failures = [one for one in measured if not isinstance(one, dict)]
        if failures:
            row.verdict = f"{side} failed: {failures[0]}"
            return row
    row.python = median(one[metric] for one in peers)
    row.ours = median(one[metric] for one in ours)
    row.passed = abs(row.ratio - 1) <= PROBE_TOLERANCE
    row.verdict = "agrees" if row.passed else f"differs by more than {PROBE_TOLERANCE:.0%}"
    return row


def readable(value, unit):
    if value is None:
        return "–"
    for factor, prefix in ((1e12, "T"), (1e9, "G")):
        if value >= factor:
            return f"{value / factor:.4g} {prefix}{unit}"
    return f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.4g} {unit}"


def table(rows):
    lines = [["workload", "Python", "Python's figure", "ours", "ratio", "losses", "verdict"]]
    for row in rows:
        lines.append([row.workload, row.variant, readable(row.python, row.unit), readable(row.ours, row.unit),
                      "–" if row.ratio is None else f"{row.ratio:.3g} ×",
                      learning.overall(row.learning) if row.learning else "–", row.verdict])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]) - 1)]
    return "\n".join("  ".join([*(cell.ljust(width) for cell, width in zip(line, widths)), line[-1]]) for line in lines)


def find_engine(given):
    if given:
        candidates = [given]
    else:
        root = FOLDER.parent.parent
        built = [root / "build" / preset / "bin" / "assay-engine" for preset in ("gpu", "release")]
        candidates = [*built, "assay-engine"]
    for candidate in candidates:
        if found := shutil.which(str(candidate)):
            return Path(found).resolve()
    tried = ", ".join(map(str, candidates))
    print(f"no assay-engine that can be started: tried {tried}. Build it (engine/README.md) or give --engine PATH.",
          file=sys.stderr)
    sys.exit(2)


def parse_arguments():
    names = [workload.name for workload in WORKLOADS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", help="by default build/gpu/bin/assay-engine, that of `release`, or the PATH's")
    parser.add_argument("--only", action="append", choices=[*names, "probe"], help="may be given several times")
    parser.add_argument("--steps", type=int, help="of each run that is timed, instead of as many as the workload has")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"of what is timed; by default {ROUNDS}")
    parser.add_argument("--part", choices=["speed", "learning"], help="only this; figures count with both")
    checks = sorted({check.name for workload in WORKLOADS for check in workload.learning if check.name})
    parser.add_argument("--check", action="append", choices=checks, help="with --part learning: only these")
    parser.add_argument("--engine-changes", type=json.loads, default={}, metavar="JSON",
                        help="with --part learning: settings of our side alone, to see what the checks notice")
    parser.add_argument("--quick", action="store_true", help="one short round, speed alone, no torch.compile")
    parser.add_argument("--json", metavar="FILE", help="write every figure to this file")
    options = parser.parse_args()
    if options.steps is not None and options.steps < 4:
        parser.error("--steps must be at least 4")
    if (options.check or options.engine_changes) and options.part != "learning":
        parser.error("--check and --engine-changes go with --part learning: no speed counts by them")
    return options


def check_this_machine():
    try:
        return run_peer("check")
    except Failed as failure:
        print(f"compare: {failure}", file=sys.stderr)
        sys.exit(3)


def write_figures(path, machine, comparison, rows):
    figures = {"machine": machine, "quick": comparison.quick, "runs": [{key: value for key, value in one.items() if key != "losses"}
                                                     for one in comparison.runs], "curves": comparison.curves,
               "rows": [{**asdict(row), "ratio": row.ratio} for row in rows]}
    Path(path).write_text(json.dumps(figures, indent=1) + "\n")


def main():
    options = parse_arguments()
    machine = check_this_machine()
    engine = find_engine(options.engine)
    print(", ".join(f"{name} {value}" for name, value in machine.items()), flush=True)
    wanted = options.only or ["probe", *(workload.name for workload in WORKLOADS)]
    chosen = [workload for workload in WORKLOADS if workload.name in wanted]
    rows = []
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        comparison = Comparison(engine, Path(folder), options)
        for workload in (["probe"] if "probe" in wanted else []) + chosen:
            rows += comparison.probe() if workload == "probe" else comparison.compare(workload)
            if options.json:  # after each workload: an interrupted comparison leaves what it has
                write_figures(options.json, machine, comparison, rows)
    print(table(rows))
    for name, variant, findings in {row.workload: (row.workload, row.variant, row.learning) for row in rows}.values():
        for one in findings:
            print(f"{name}: {one}")
    return 0 if all(row.passed for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
