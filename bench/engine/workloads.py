"""What is compared: one place for the settings that the engine and its peers share."""

from dataclasses import dataclass, field, replace

from learning import LOSS_TOLERANCE, seeds_needed

SEED = 1  # of the runs that are timed
WARM_UP_STEPS = 10


def warm_up_steps(steps):
    """So many of the first steps do not count for the speed, on either side."""
    return min(WARM_UP_STEPS, steps // 4)


def learning_rate(spec, step):
    """As engine/optim/schedule.cpp has it for a constant schedule."""
    steps = spec.get("warmup_steps", 0)
    return spec["learning_rate"] * (min(1.0, (step + 1) / steps) if steps else 1.0)


@dataclass(frozen=True)
class Learning:
    """How the losses of both sides are compared: with each seed both have the same start and the same samples."""
    steps: int
    fixed: tuple  # after so many steps the losses are compared
    text: str | None = None  # which text of data.py; None: the workload reads none
    name: str = ""  # tells the checks of a workload apart
    level: float | None = None  # a loss: the steps that it takes to get there are compared as well
    window: int = 20  # losses are means of so many steps
    seeds: tuple = (1, 2, 3, 4, 5)
    changes: dict = field(default_factory=dict)  # of the specification
    at_a_time: int = 1  # most runs of the engine; fewer where the GPU's memory is too small


@dataclass(frozen=True)
class Workload:
    name: str
    variants: tuple  # of the Python side; the first one is plain eager code
    metric: str  # the figure that is compared
    unit: str
    steps: int
    quick_steps: int
    spec: dict = field(repr=False)  # for the engine; the peer takes sizes and learning rate from it
    learning: tuple = ()
    learning_variant: str | None = None  # the first one unless another is faster
    quick_variants: int = 1  # how many of the variants a quick comparison has time for
    title: str = ""  # in the README's table
    needs: tuple = ("safetensors",)  # Python packages beside PyTorch
    start_bytes: int = 3 << 30  # of first weights on the disk, if Python is ahead with all seeds of a check

    @property
    def reads_text(self):
        return self.spec["task"] != "classification"

    def figure(self, step_seconds):
        per_step = {"steps_per_second": 1, "samples_per_second": self.spec["batch_size"],
                    "tokens_per_second": self.spec["batch_size"] * self.spec.get("seq_length", 0)}
        return per_step[self.metric] / step_seconds

    def changed(self, changes):
        """The same workload with other settings; those of the model one by one."""
        model = {**self.spec["model"], **changes.get("model", {})}
        return replace(self, spec={**self.spec, **changes, "model": model})

    def engine_spec(self, steps, text=None, weights=None, seed=SEED):
        spec = {"kind": "train", "name": self.name, "seed": seed, "device": "cuda", "optimizer": "adamw",
                "weight_decay": 0.0, "schedule": "constant", "gradient_clipping": 0.0, "dropout": 0.0,
                "eval_interval": 10**9, "steps": steps, **self.spec}
        if self.reads_text:
            spec["dataset"] = {"name": f"text:{text}", "validation": 0.0}
        if weights:
            spec["model"] = {**spec["model"], "weights": str(weights)}
        return spec


# The published vocabularies, whose sizes everybody's figures are about; bytes would need 256.
GPT2 = {"model": {"name": "gpt2", "vocabulary": 50257}, "task": "pretrain", "batch_size": 32, "seq_length": 1024,
        "learning_rate": 3e-4, "data": {"workers": 4, "prefetch": 4}}
LORA = {"model": {"name": "mistral-7b", "vocabulary": 32000}, "task": "lora",
        "lora": {"rank": 16, "alpha": 32, "targets": ["q_proj", "v_proj"]}, "batch_size": 8, "seq_length": 512,
        "precision": "bf16", "learning_rate": 2e-4, "data": {"workers": 4, "prefetch": 4}}

# Without a warm-up the first steps throw GPT-2's weights so far off that its loss on `triples` stays at 4.06, that of
# the letters' frequencies, for 100 to over 300 steps; how long differs between two runs of PyTorch as well, and five
# seeds could not tell anything. With one it falls to 3.27, where only the last letter is used, in every seed.
WARMED_UP = {"warmup_steps": 100}

# When attention finds the last but one letter is a matter of luck, too. So many seeds that it can be compared take a
# smaller model, whose loss stays at 3.27 until then. It cannot tell `bf16` from `bf16_all`. Without a warm-up single steps
# throw the loss up, from 3.9 to 5.9 say; in two of ten seeds they did so in one program alone, which was 11.2 and 1.4 % behind
# after 700 steps, where the other eight agreed within 0.03 %. It would have taken 133 seeds to tell anything.
SMALL_GPT2 = {"model": {"layers": 4, "width": 256, "heads": 4, "vocabulary": 256}, "batch_size": 32,
              "seq_length": 256, "learning_rate": 5e-4, **WARMED_UP}
GPT2_LEARNING = (Learning(100, (50, 100), "pairs", "pairs"),
                 Learning(200, (100, 200), "triples", "warmed-up", level=3.6, changes=WARMED_UP),
                 Learning(700, (200, 700), "triples", "small", level=3.1, seeds=tuple(range(1, 11)), changes=SMALL_GPT2,
                          at_a_time=5))

# Of every seed the first 20 steps: loading 14 GB takes longer.
LORA_LEARNING = (Learning(20, (10, 20), "triples", window=10, at_a_time=3),)

# Eight seeds of ResNet-50 were known to ± 1.8 % after 100 steps (H200, window of 20 steps): a standard deviation of
# 1.8 % · √8 / 2.365. For identical sides to be found alike in four of five comparisons that takes 51 seeds; 30 would be
# enough in 38 % of them (learning.power).
RESNET_DEVIATION = 0.0215
RESNET_SEEDS = seeds_needed(RESNET_DEVIATION, LOSS_TOLERANCE, 0.8)

HUGGING_FACE = ("transformers", "safetensors")
LANGUAGE = ("eager SDPA", "torch.compile")

WORKLOADS = (
    Workload("spiral-mlp", ("eager", "fused Adam", "torch.compile", "CUDA graph"), "steps_per_second", "steps/s", 5000, 2000,
             {"model": {"name": "mlp", "hidden": [64, 32, 16]}, "task": "classification",
              "dataset": {"name": "spiral", "samples": 10000, "arms": 2, "noise": 0.1, "validation": 0.0},
              "batch_size": 32, "precision": "fp32", "learning_rate": 1e-3},
             # After 200 steps the loss has fallen by 7 %, which is too little to compare.
             learning=(Learning(600, (300, 600)),), quick_variants=2, title="MLP [64, 32, 16], batch 32, fp32"),
    Workload("gpt2", LANGUAGE, "tokens_per_second", "tok/s", 100, 60, {**GPT2, "precision": "bf16"},
             learning=GPT2_LEARNING, learning_variant="torch.compile", needs=HUGGING_FACE,
             title="GPT-2 124M, 32 × 1024, `bf16`, AdamW"),
    Workload("gpt2-all-bf16", LANGUAGE, "tokens_per_second", "tok/s", 100, 60, {**GPT2, "precision": "bf16_all"},
             learning=GPT2_LEARNING, learning_variant="torch.compile", needs=HUGGING_FACE,
             title="the same, `bf16_all`; PyTorch with bf16 weights and fp32 masters"),
    Workload("gpt2-fp16", LANGUAGE, "tokens_per_second", "tok/s", 100, 60, {**GPT2, "precision": "fp16"},
             learning=GPT2_LEARNING, learning_variant="torch.compile", needs=HUGGING_FACE,
             title="the same, `fp16` with loss scaling"),
    Workload("resnet50", ("eager", "torch.compile"), "samples_per_second", "img/s", 150, 60,
             {"model": {"name": "resnet50"}, "task": "classification",
              "dataset": {"name": "synthetic-images", "samples": 10000, "validation": 0.0}, "batch_size": 256,
              "precision": "bf16", "learning_rate": 1e-3, "data": {"workers": 8, "prefetch": 4}},
             learning=(Learning(100, (25, 50, 100), seeds=tuple(range(1, RESNET_SEEDS + 1)), at_a_time=2),),
             needs=("torchvision", "safetensors"), start_bytes=6 << 30, title="ResNet-50, bf16, batch 256, the same images"),
    Workload("mistral-lora", LANGUAGE, "samples_per_second", "samples/s", 30, 20, LORA, learning=LORA_LEARNING,
             needs=HUGGING_FACE, start_bytes=16 << 30,
             title="Mistral-7B LoRA r16, 8 × 512, bf16, the same frozen weights"),
    Workload("mistral-lora-checkpointing", LANGUAGE, "samples_per_second", "samples/s", 30, 20,
             {**LORA, "gradient_checkpointing": True}, learning=LORA_LEARNING, needs=HUGGING_FACE, start_bytes=16 << 30,
             title="the same with gradient checkpointing"),
)


def workload_named(name):
    return next(workload for workload in WORKLOADS if workload.name == name)
