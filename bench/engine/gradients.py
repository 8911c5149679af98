"""Whether `precision: bf16` is what autocast is: the gradients of one step, tensor by tensor, from the same weights and the
same batch. Needs no second step, no seed and no luck.

    python3 bench/engine/gradients.py [--engine PATH] [--device cpu] [--changes JSON] [--json FILE]

Each side's gradients are held against PyTorch's in fp32 (without TF32). How far autocast is off says what bf16 costs there.
The engine's `bf16` passes if no tensor is further off by more than 10 %, and if on the whole the tensors are not further off:
a sign test over all of them. Two more runs say whether the comparison can be trusted: in fp32 the engine must be nearer to
PyTorch than a tenth of autocast's error, else model or batch differ; and `bf16_all`, which rounds residual stream and gradients
as well, must not pass, else nothing would be noticed here. Rounding a residual stream adds 2 % to the errors of a whole GPT-2:
no tensor tells, 148 of them do.

Exit codes: 0 as autocast, 1 not, or the comparison cannot be trusted, or something failed, 2 wrong arguments, 3 no GPU or no
PyTorch here.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median

import compare
import data
import learning
import provenance
from workloads import SEED, workload_named

TOLERANCE = 0.10
EXACT_SHARE = 0.10  # of autocast's error
PRECISIONS = ("fp32", "bf16", "bf16_all")
SHOWN = 8


def ratios(errors, precision):
    """The error of each tensor over autocast's."""
    return {name: errors[precision][name] / one for name, one in errors["autocast"].items()}


def judge(errors):
    """`errors`: for `autocast` and each precision of the engine the relative error of every tensor. Returns the verdict,
    in words what led to it, and whether it passes."""
    for side, tensors in errors.items():
        if missing := [name for name, error in tensors.items() if error is None]:
            return "cannot be compared", [f"{side} has no tensor {name} of that shape" for name in missing], False
        # A gradient without numbers would be in no order with others.
        if wrong := [name for name, error in tensors.items() if error != error or error == float("inf")]:
            return "cannot be compared", [f"{side}: {name} is not a number" for name in wrong], False
    inexact = [name for name, ratio in ratios(errors, "fp32").items() if ratio > EXACT_SHARE]
    if inexact:
        return "other model or batch", [f"in fp32 {name} is off by {errors['fp32'][name]:.2e}" for name in inexact], False
    control, _ = further_off(ratios(errors, "bf16_all"))
    if not control:
        return "notices nothing", ["bf16_all passes as well"], False
    worse, reasons = further_off(ratios(errors, "bf16"))
    return "further off than autocast" if worse else "as autocast", reasons, not worse


def further_off(found):
    """Whether tensors with these ratios are further off than autocast's, and in words why, or why not."""
    beyond = sorted((name for name, ratio in found.items() if ratio > 1 + TOLERANCE), key=found.get, reverse=True)
    further = sum(ratio > 1 for ratio in found.values())
    reasons = [f"{name}: {found[name]:.2f} times as far off as autocast" for name in beyond]
    reasons.append(f"{further} of {len(found)} tensors are further off than with autocast")
    return bool(beyond) or learning.tail(further, len(found)) <= learning.ONE_SIDED, reasons


def table(errors):
    """The tensors with the largest ratios, and the medians."""
    own, control = ratios(errors, "bf16"), ratios(errors, "bf16_all")
    lines = [["tensor", "autocast", "bf16", "ratio", "bf16_all", "ratio", "fp32"]]
    for name in sorted(own, key=own.get, reverse=True)[:SHOWN]:
        lines.append([name, *(f"{value:.3g}" for value in (errors["autocast"][name], errors["bf16"][name], own[name],
                                                            errors["bf16_all"][name], control[name],
                                                            errors["fp32"][name]))])
    middle = [median(errors["autocast"].values()), median(errors["bf16"].values()), median(own.values()),
              median(errors["bf16_all"].values()), median(control.values()), median(errors["fp32"].values())]
    lines.append([f"median of {len(own)}", *(f"{value:.3g}" for value in middle)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def engine_gradients(engine, workload, precision, folder, text, device):
    start = folder / f"{workload.name}-{SEED}.index.json"
    spec = {**workload.engine_spec(1, text, start), "precision": precision, "device": device}
    file = folder / f"{precision}.json"
    file.write_text(json.dumps(spec))
    out = folder / f"{precision}.safetensors"
    done = compare.run([str(engine), "train", "--spec", str(file), "--gradients", str(out)])
    if done.returncode != 0:
        raise compare.Failed(f"engine in {precision}: {compare.last_line(done.stderr)[:300]}")


def measure(engine, options, folder):
    workload = workload_named("gpt2")
    text = folder / "triples.txt"
    text.write_bytes(data.triples())
    shared = ["gpt2", "--gradients", folder, "--device", options.device]
    compare.run_peer(*shared, "--text", text, "--changes", json.dumps(options.changes))
    for precision in PRECISIONS:
        engine_gradients(engine, workload.changed(options.changes), precision, folder, text, options.device)
    return compare.run_peer(*shared, "--of", ",".join(("autocast", *PRECISIONS)))["errors"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", help="by default build/gpu/bin/assay-engine, that of `release`, or the PATH's")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--changes", type=json.loads, default={}, metavar="JSON",
                        help="settings of both sides, to try it on a small model: {\"model\": {\"layers\": 2}}")
    parser.add_argument("--json", metavar="FILE", help="write every error to this file")
    return parser.parse_args()


def main():
    options = parse_arguments()
    engine = compare.find_engine(options.engine)
    try:
        with tempfile.TemporaryDirectory(prefix="assay-gradients-") as folder:
            errors = measure(engine, options, Path(folder))
    except compare.Failed as failure:
        print(f"gradients: {failure}", file=sys.stderr)
        return failure.exit_code
    verdict, reasons, passed = judge(errors)
    if options.json:
        Path(options.json).write_text(json.dumps({"provenance": provenance.facts(), "changes": options.changes,
                                                  "device": options.device, "errors": errors, "verdict": verdict,
                                                  "reasons": reasons}, indent=1) + "\n")
    if verdict != "cannot be compared":
        print(table(errors))
    print(f"bf16: {verdict}")
    for reason in reasons:
        print(f"  {reason}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
