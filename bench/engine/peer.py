"""One workload in plain Python on this machine's GPU; prints one JSON line.

    python3 bench/engine/peer.py gpt2 --variant torch.compile

Exit codes: 0 done, 1 failed, 2 wrong arguments, 3 no PyTorch or no GPU here.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path
from statistics import median

import data
from workloads import SEED, WORKLOADS, warm_up_steps, workload_named

MATRIX = 8192
COPY_BYTES = 4 << 30


def refuse(message):
    print(message, file=sys.stderr)
    sys.exit(3)


def import_torch(device):
    # Nothing here comes from the network; say so before anything tries.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    # This cache of torch.compile hands out code by the model alone: with autocast in bf16 one got that of an earlier run
    # in fp16, whose gradients vanish without a loss scale.
    os.environ["TORCHINDUCTOR_AUTOGRAD_CACHE"] = "0"
    try:
        import torch
    except ImportError as error:
        refuse(f"no PyTorch here ({error}): this needs a GPU machine with PyTorch, transformers and torchvision")
    if device == "cuda" and not torch.cuda.is_available():
        refuse("no GPU here that CUDA can use: this needs one")
    return torch


def timer(torch):
    """A function that gives the seconds on the GPU since the last call, and waits for them to be over."""
    points = [torch.cuda.Event(enable_timing=True)]
    points[0].record()

    def seconds():
        points.append(torch.cuda.Event(enable_timing=True))
        points[-1].record()
        points[-1].synchronize()
        return points[-2].elapsed_time(points[-1]) / 1000

    return seconds


def measure(torch, job, steps, seconds):
    """Trains and returns the mean time of a step after the warm-up, and all losses."""
    losses = []
    warm_up = warm_up_steps(steps)
    torch.cuda.reset_peak_memory_stats()
    for i in range(steps):
        if i == warm_up:
            torch.cuda.synchronize()
            elapsed = timer(torch)
            begun = time.monotonic()
        losses.append(job.step(i))
        if seconds and i > warm_up and time.monotonic() - begun > seconds:
            break
    step_seconds = elapsed() / (len(losses) - warm_up)
    return step_seconds, torch.stack(losses).float().tolist()


def make(workload, options, steps):
    from peer_models import make_job

    workload = workload.changed(json.loads(options.changes))
    text = b""
    if workload.reads_text:
        text = Path(options.text).read_bytes() if options.text else data.triples()
    return make_job(workload, options.variant, steps, text)


def train(torch, workload, options):
    steps = options.steps or workload.steps
    job = make(workload, options, steps)
    job.restart(SEED)
    step_seconds, losses = measure(torch, job, steps, options.seconds)
    counts = [(parameter.numel(), parameter.requires_grad) for parameter in job.model.parameters()]
    return {
        "workload": workload.name,
        "variant": options.variant,
        "step_seconds": step_seconds,
        "final_loss": sum(losses[-20:]) / len(losses[-20:]),
        "gpu_memory_peak_bytes": torch.cuda.max_memory_allocated(),
        "steps": len(losses),
        "parameters": sum(count for count, _ in counts),
        "trainable_parameters": sum(count for count, trained in counts if trained),
        "loss_scale": job.loss_scale(),
    }


def learn(torch, workload, options):
    """The losses of every step for several seeds. Before a seed's training its first weights are written."""
    job = make(workload, options, options.steps)
    curves, scales = {}, {}
    for seed in map(int, options.learn.split(",")):
        job.restart(seed)
        if options.starts:
            write_start(job, Path(options.starts), workload.name, seed)
        curves[seed] = torch.stack([job.step(i) for i in range(options.steps)]).float().tolist()
        scales[seed] = job.loss_scale()
    return {"workload": workload.name, "variant": options.variant, "curves": curves, "loss_scales": scales}


def write_start(job, folder, name, seed):
    """`NAME-SEED.index.json`, which comes last, and the files that it names."""
    from safetensors.torch import save_file

    shards = {f"{name}-{seed}.safetensors": job.start}
    if job.shared:
        shards[f"{name}-shared.safetensors"] = job.shared
    for file, tensors in shards.items():
        if not (folder / file).exists():
            save_file({key: value.detach().contiguous() for key, value in tensors.items()}, folder / file)
    index = {"weight_map": {key: file for file, tensors in shards.items() for key in tensors}}
    ready = folder / f"{name}-{seed}.index.json"
    ready.with_suffix(".part").write_text(json.dumps(index))
    ready.with_suffix(".part").rename(ready)


def gradients(torch, workload, options):
    """Of the first step, in fp32 and under autocast, as `NAME.safetensors` in the folder, beside the weights it starts
    from."""
    import peer_models
    from safetensors.torch import save_file

    peer_models.DEVICE = options.device
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    folder = Path(options.gradients)
    job = make(workload, options, 1)
    job.restart(SEED)
    write_start(job, folder, workload.name, SEED)
    losses = {}
    for name, loss_of in (("exact", job.exact_loss), ("autocast", job.loss)):
        job.optimizer.zero_grad(set_to_none=True)
        loss = loss_of(0)
        loss.backward()
        losses[name] = loss.item()
        save_file({key: parameter.grad.float().contiguous() for key, parameter in job.model.named_parameters()},
                  folder / f"{name}.safetensors")
    return {"workload": workload.name, "losses": losses}


def gradient_errors(torch, options):
    """For every file of gradients beside `exact.safetensors`: how far each tensor is off, relative to its norm. None
    where a file lacks a tensor, or has it in another shape."""
    from safetensors.torch import load_file

    folder = Path(options.gradients)
    exact = load_file(folder / "exact.safetensors", device=options.device)
    errors = {}
    for name in options.of.split(","):
        found = load_file(folder / f"{name}.safetensors", device=options.device)
        errors[name] = {}
        for key, wanted in exact.items():
            own = next((found[one] for one in engine_names(key) if one in found), None)
            is_there = own is not None and own.shape == wanted.shape
            errors[name][key] = ((own - wanted).norm() / wanted.norm()).item() if is_there else None
    return {"errors": errors}


def engine_names(key):
    """What the engine may call a tensor of transformers: without the name of the whole model in front."""
    return [key, key.removeprefix("transformer."), key.removeprefix("model.")]


def matrix_flops(torch):
    """The best of six bursts of ten products after three warm-ups: products on end heat the GPU up and slow it down."""
    left = torch.randn(MATRIX, MATRIX, device="cuda").bfloat16()
    right = torch.randn(MATRIX, MATRIX, device="cuda").bfloat16()
    out = torch.empty_like(left)
    bursts = []
    for _ in range(6):
        for _ in range(3):
            torch.mm(left, right, out=out)
        elapsed = timer(torch)
        for _ in range(10):
            torch.mm(left, right, out=out)
        bursts.append(elapsed() / 10)
        time.sleep(0.04)
    return 2 * MATRIX**3 / min(bursts)


def copy_rate(torch):
    source = torch.rand(COPY_BYTES // 4, device="cuda")
    target = torch.empty_like(source)
    times = []
    for _ in range(80):  # the first ones until the clocks have risen
        elapsed = timer(torch)
        for _ in range(5):
            target.copy_(source)
        times.append(elapsed() / 5)
    return 2 * COPY_BYTES / median(times[-7:])


def about_this_machine(torch):
    import importlib.metadata as metadata

    facts = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda}
    for package in ("transformers", "torchvision", "safetensors"):
        try:
            facts[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            facts[package] = None
    return facts


def what_is_missing(facts, workloads, folder, learns):
    """For these workloads; in words, one thing each. Only where losses are compared do weights lie on the disk."""
    missing = []
    for workload in workloads:
        for package in workload.needs:
            if facts.get(package) is None and (learns or package != "safetensors"):
                missing.append(f"{workload.name} needs the Python package {package}, which is not here")
    free = shutil.disk_usage(folder).free
    needed = max((workload.start_bytes for workload in workloads), default=0) if learns else 0
    if free < needed:
        missing.append(f"first weights take {needed / 1e9:.0f} GB in {folder}, where {free / 1e9:.0f} GB are free: "
                       "set TMPDIR")
    return missing


def check(torch, options):
    facts = about_this_machine(torch)
    names = options.only or [workload.name for workload in WORKLOADS]
    missing = what_is_missing(facts, [workload_named(name) for name in names], options.folder, not options.speed_alone)
    if missing:
        refuse("; ".join(missing))
    return facts


def parse_arguments():
    names = [workload.name for workload in WORKLOADS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", choices=[*names, "probe", "check"], help="check: whether this machine has what it takes")
    parser.add_argument("--variant", help="by default the first: " +
                        "; ".join(f"{workload.name}: {', '.join(workload.variants)}" for workload in WORKLOADS))
    parser.add_argument("--steps", type=int, help="steps in all, warm-up included")
    parser.add_argument("--seconds", type=float, help="end after so many seconds if that comes first")
    parser.add_argument("--text", help="file to learn from; by default the one that compare.py writes is made anew")
    parser.add_argument("--learn", metavar="SEEDS", help="losses instead of speed, for each of these seeds: 1,2,3")
    parser.add_argument("--changes", default="{}", metavar="JSON", help="settings that differ from the workload's")
    parser.add_argument("--starts", metavar="FOLDER", help="with --learn: write each seed's first weights there")
    parser.add_argument("--gradients", metavar="FOLDER", help="write gradients of the first step there; see gradients.py")
    parser.add_argument("--of", metavar="NAMES", help="with --gradients: how far those of these files are off: bf16,fp32")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="with --gradients")
    parser.add_argument("--only", action="append", choices=names, help="check: for these workloads alone")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="check: where first weights are to lie")
    parser.add_argument("--speed-alone", action="store_true", help="check: no losses will be compared")
    options = parser.parse_args()
    if options.steps is not None and options.steps < 4:
        parser.error("--steps must be at least 4")
    if options.learn and options.steps is None:
        parser.error("--learn needs --steps")
    if options.device == "cpu" and not options.gradients:
        parser.error("--device cpu goes with --gradients: nothing else is written for it")
    if options.workload in names:
        variants = workload_named(options.workload).variants
        options.variant = options.variant or variants[0]
        if options.variant not in variants:
            parser.error(f"--variant '{options.variant}' of {options.workload} is not one of {', '.join(variants)}")
    return options


def main():
    options = parse_arguments()
    torch = import_torch(options.device)
    if options.workload == "check":
        result = check(torch, options)
    elif options.workload == "probe":
        result = {"workload": "probe", "matrix_flops_per_second": matrix_flops(torch),
                  "memory_bytes_per_second": copy_rate(torch)}
    elif options.of:
        result = gradient_errors(torch, options)
    else:
        work = gradients if options.gradients else learn if options.learn else train
        result = work(torch, workload_named(options.workload), options)
    print(json.dumps(result))


if __name__ == "__main__":
    try:
        main()
    except Exception as failure:
        traceback.print_exc()
        # PyTorch's messages are pages that end with advice; compare.py shows the last line.
        reason = next((line for line in str(failure).splitlines() if line.strip()), "")
        sys.exit(f"{type(failure).__name__}: {reason}")
