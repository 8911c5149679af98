"""The engine's throughput beside the same models in Python, both measured here and now. README.md says what counts.

    python3 bench/engine/compare.py [--engine PATH] [--only NAME]... [--part speed|learning] [--check NAME]...
                                    [--seeds FIRST-LAST] [--quick] [--json FILE] [--markdown]
    python3 bench/engine/compare.py --from FILE... [--markdown]     what was measured in parts, put together

Exit codes: 0 ahead of eager Python everywhere and learning alike, 1 behind somewhere, learning otherwise, or something
failed, 2 wrong arguments, 3 this machine cannot: no GPU, no PyTorch, a package or room on the disk missing.
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
from pathlib import Path
from statistics import mean

import data
import figures
import provenance
from workloads import WORKLOADS, warm_up_steps

FOLDER = Path(__file__).resolve().parent
ROUNDS = 2
RUN_LIMIT_SECONDS = 600
# What a run of the engine takes beside its tensors: CUDA's context, libraries, what the allocator keeps.
RUN_EXTRA_BYTES = 2 << 30


class Failed(Exception):
    """A run that gave no figure; the message is for people."""

    def __init__(self, message, exit_code=1):
        super().__init__(message)
        self.exit_code = exit_code


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
        raise Failed(last_line(done.stderr)[:300], done.returncode)
    return json.loads(last_line(done.stdout))


def run_engine(engine, spec, folder):
    """Trains and returns the measurement under the peer's names."""
    spec_file, events_file = folder / "spec.json", folder / "events.jsonl"
    spec_file.write_text(json.dumps(spec))
    events_file.unlink(missing_ok=True)
    done = run([str(engine), "train", "--spec", str(spec_file)], {**os.environ, "ASSAY_EVENTS": f"file:{events_file}"})
    return read_events(events_file.read_text() if events_file.exists() else "", done)


def read_events(text, done):
    hello, losses, seconds, metrics, error = {}, [], [], None, None
    for line in text.splitlines():
        event = json.loads(line)
        if event["type"] == "hello":
            hello = event
        elif event["type"] == "steps":
            losses += [math.nan if loss is None else loss for loss in event["loss"]]
            seconds += event["step_seconds"]
        elif event["type"] == "error":
            error = error or f"{event['kind']}: {event['message']}"
        elif event["type"] == "result":
            metrics = event["metrics"]
    if done.returncode != 0 or metrics is None:
        raise Failed(error or f"exit code {done.returncode}: {last_line(done.stderr)}")
    if not seconds:
        raise Failed("it told of no steps")
    kept = ("final_loss", "gpu_memory_peak_bytes", "loss_scale", "skipped_steps")
    # The mean over the same steps as Python's, not the engine's own choice of a steady state.
    window = seconds[warm_up_steps(len(seconds)):]
    return {**{name: metrics.get(name) for name in kept},
            "step_seconds": mean(window),
            "steady_step_seconds": metrics.get("step_seconds"),
            "losses": losses,
            "steps": metrics["steps_done"],
            "parameters": hello.get("parameters"),
            "trainable_parameters": hello.get("trainable_parameters")}


def summary(measurement):
    if "step_seconds" not in measurement:
        return "done"
    scale = measurement.get("loss_scale")
    return f"{1000 * measurement['step_seconds']:.4g} ms a step" + (f", loss scale {scale:g}" if scale else "")


def runs_at_a_time(most, free_bytes, run_bytes):
    """How many runs fit on the GPU side by side; `free_bytes` None: nobody knows."""
    if free_bytes is None or not run_bytes:
        return 1
    return max(1, min(most, int(free_bytes // (1.25 * run_bytes + RUN_EXTRA_BYTES))))


class Comparison:
    """Measures and remembers; `runs` and `curves` are as figures.py describes them."""

    def __init__(self, engine, folder, options):
        self.engine = engine
        self.folder = folder
        self.rounds = 1 if options.quick else options.rounds
        self.quick = options.quick
        self.steps = options.steps
        self.parts = {options.part} if options.part else {"speed"} if options.quick else {"speed", "learning"}
        self.checks = options.check
        self.seeds = options.seeds
        self.engine_changes = options.engine_changes
        self.runs = []
        self.curves = []

    def attempt(self, workload, side, number, work, *arguments):
        """Whether there is a measurement; it, or in words why there is none, is remembered."""
        print(f"  {workload}, {side}, round {number + 1} of {self.rounds} …", end=" ", file=sys.stderr, flush=True)
        record = {"workload": workload, "side": side, "round": number + 1}
        try:
            measurement = work(*arguments)
        except Failed as failure:
            record["failure"] = str(failure)
        except (ValueError, KeyError, TypeError) as error:  # what it wrote is not what it should be
            record["failure"] = f"unreadable result: {error!r}"
        else:
            record.update({name: value for name, value in measurement.items()
                           if name not in ("losses", "workload", "variant")})
        self.runs.append(record)
        print(f"failed: {record['failure']}" if "failure" in record else summary(record), file=sys.stderr, flush=True)
        return "failure" not in record

    def compare(self, workload):
        if "learning" in self.parts:
            self.compare_learning(workload)
        if "speed" in self.parts:
            self.compare_speed(workload)

    def compare_speed(self, workload):
        variants = workload.variants[:workload.quick_variants] if self.quick else workload.variants
        failed = set()
        for number in range(self.rounds):
            for name in [variants[0], "engine", *variants[1:]]:
                train = self.train_engine if name == "engine" else self.train_peer
                if name not in failed and not self.attempt(workload.name, name, number, train, workload, name):
                    failed.add(name)

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
        """The losses of both sides for all checks that are asked for."""
        for check in workload.learning:
            seeds = [seed for seed in check.seeds if self.seeds is None or seed in self.seeds]
            if self.checks and check.name not in self.checks or not seeds:
                continue
            print(f"  {workload.name}, losses of {len(seeds)} seeds{', ' if check.name else ''}"
                  f"{check.name} …", file=sys.stderr, flush=True)
            record = {"workload": workload.name, "check": check.name}
            try:
                record["python"], record["ours"] = self.curves_of(workload, check, seeds)
            except (Failed, ValueError, KeyError, TypeError) as failure:
                print(f"    failed: {failure}", file=sys.stderr)
                record["failure"] = str(failure)
            self.curves.append(record)

    def curves_of(self, workload, check, seeds):
        """Python trains all seeds in one process; the engine follows, each seed as soon as its start is there."""
        text = self.text_file(workload, check.text)
        starts = Path(tempfile.mkdtemp(dir=self.folder))
        command = [sys.executable, str(FOLDER / "peer.py"), workload.name, "--steps", str(check.steps), "--variant",
                   workload.learning_variant or workload.variants[0], "--learn", ",".join(map(str, seeds)),
                   "--starts", str(starts), "--changes", json.dumps(check.changes), *(["--text", str(text)] if text else [])]
        errors = (starts / "errors").open("w+")
        peer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            ours = self.engine_curves(workload, check, seeds, starts, peer)
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

    def engine_curves(self, workload, check, seeds, starts, peer):
        """The first seed alone: what it takes says how many fit side by side, beside Python, which is at work by then."""
        first = self.engine_run(workload, check, seeds[0], starts, peer)
        at_a_time = runs_at_a_time(check.at_a_time, provenance.free_bytes(), first["gpu_memory_peak_bytes"])
        with ThreadPoolExecutor(at_a_time) as pool:
            runs = pool.map(lambda seed: self.engine_run(workload, check, seed, starts, peer), seeds[1:])
            return {seed: one["losses"] for seed, one in zip(seeds, [first, *runs])}

    def engine_run(self, workload, check, seed, starts, peer):
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
        measured = run_engine(self.engine, spec, own)
        (starts / f"{workload.name}-{seed}.safetensors").unlink()
        return measured

    def probe_engine(self):
        done = run([str(self.engine), "probe", "--json"])
        if done.returncode != 0:
            raise Failed(last_line(done.stderr)[:300])
        result = json.loads(done.stdout)["result"]
        return {"matrix_flops_per_second": result["matrix_flops_per_second"]["bf16"],
                "memory_bytes_per_second": result["memory_bytes_per_second"]}

    def probe(self):
        """The engine's ceilings of this machine beside PyTorch's own."""
        for number in range(self.rounds):
            self.attempt("probe", "torch", number, run_peer, "probe")
            self.attempt("probe", "engine", number, self.probe_engine)


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


def seed_range(text):
    first, _, last = text.partition("-")
    try:
        return range(int(first), int(last or first) + 1)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not FIRST-LAST, as in 1-20") from None


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
    parser.add_argument("--seeds", type=seed_range, metavar="FIRST-LAST",
                        help="with --part learning: only these of a check's seeds; it counts once all are there (--from)")
    parser.add_argument("--engine-changes", type=json.loads, default={}, metavar="JSON",
                        help="with --part learning: settings of our side alone, to see what the checks notice")
    parser.add_argument("--quick", action="store_true", help="one short round, speed alone, no torch.compile")
    parser.add_argument("--json", metavar="FILE", help="write every figure to this file")
    parser.add_argument("--from", dest="sources", nargs="+", metavar="FILE",
                        help="measure nothing: take what --json wrote, of one comparison or of several parts")
    parser.add_argument("--markdown", action="store_true", help="the table as the README has it")
    options = parser.parse_args()
    if options.steps is not None and options.steps < 4:
        parser.error("--steps must be at least 4")
    if (options.check or options.engine_changes or options.seeds) and options.part != "learning":
        parser.error("--check, --seeds and --engine-changes go with --part learning: no speed counts by them")
    return options


def check_this_machine(chosen, learns, folder):
    arguments = [argument for workload in chosen for argument in ("--only", workload.name)]
    if not learns:
        arguments.append("--speed-alone")
    try:
        return run_peer("check", "--folder", folder, *arguments)
    except Failed as failure:
        print(f"compare: {failure}", file=sys.stderr)
        sys.exit(3)


def measure(options):
    """The figures of this machine; written after each workload, so that an interrupted comparison leaves what it has."""
    wanted = options.only or ["probe", *(workload.name for workload in WORKLOADS)]
    chosen = [workload for workload in WORKLOADS if workload.name in wanted]
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder, provenance.GpuWatch() as watch:
        learns = options.part != "speed" and not options.quick
        machine = {**check_this_machine(chosen, learns, folder), **provenance.facts()}
        comparison = Comparison(find_engine(options.engine), Path(folder), options)
        print(", ".join(f"{name} {value}" for name, value in machine.items()), flush=True)
        for workload in (["probe"] if "probe" in wanted else []) + chosen:
            comparison.probe() if workload == "probe" else comparison.compare(workload)
            found = {"provenance": [{**machine, "quick": options.quick, "engine_changes": options.engine_changes,
                                     **watch.summary()}],
                     "runs": comparison.runs, "curves": comparison.curves}
            if options.json:
                Path(options.json).write_text(json.dumps(found, indent=1) + "\n")
    return found


def main():
    options = parse_arguments()
    found = figures.read(options.sources) if options.sources else measure(options)
    rows = figures.rows_of(found)
    if options.markdown:
        print(figures.markdown(found))
    else:
        print(figures.table(rows))
        print(figures.details(rows))
    return 0 if rows and all(row.passed for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
