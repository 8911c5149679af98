"""What is compared: one place for the settings that the engine and its peers share."""

from dataclasses import dataclass, field

SEED = 1
CHECKED_STEPS = 200  # losses are compared after this many steps, or at the end of a shorter run
CHECKED_WINDOW = 20  # … as the mean of this many


@dataclass(frozen=True)
class Workload:
    name: str
    variants: tuple  # of the Python side; the first one is plain eager code
    metric: str  # the figure that is compared
    unit: str
    steps: int
    quick_steps: int
    spec: dict = field(repr=False)  # for the engine; the peer takes sizes and learning rate from it
    loss_tolerance: float | None = None  # None: not the same data, only the speed is compared
    same_start: bool = False  # the engine starts from the peer's weights
    quick_variants: int = 1  # how many of the variants a quick comparison has time for
    note: str = ""

    @property
    def reads_text(self):
        return self.spec["task"] != "classification"

    def engine_spec(self, steps, corpus=None, weights=None):
        spec = {"kind": "train", "name": self.name, "seed": SEED, "device": "cuda", "optimizer": "adamw",
                "weight_decay": 0.0, "schedule": "constant", "gradient_clipping": 0.0, "dropout": 0.0,
                "eval_interval": 10**9, "steps": steps, **self.spec}
        if self.reads_text:
            spec["dataset"] = {"name": f"text:{corpus}", "validation": 0.0}
        if weights:
            spec["model"] = {**spec["model"], "weights": str(weights)}
        return spec


LORA = {"model": {"name": "mistral-7b"}, "task": "lora",
        "lora": {"rank": 16, "alpha": 32, "targets": ["q_proj", "v_proj"]}, "batch_size": 8, "seq_length": 512,
        "precision": "bf16", "learning_rate": 2e-4, "data": {"workers": 4, "prefetch": 4}}

LORA_NOTE = "same text, but each side draws its own frozen weights: the losses must agree within 5 % only"

WORKLOADS = (
    Workload("spiral-mlp", ("eager", "fused Adam"), "steps_per_second", "steps/s", 5000, 2000,
             {"model": {"name": "mlp", "hidden": [64, 32, 16]}, "task": "classification",
              "dataset": {"name": "spiral", "samples": 10000, "arms": 2, "noise": 0.1, "validation": 0.0},
              "batch_size": 32, "precision": "fp32", "learning_rate": 1e-3},
             loss_tolerance=0.01, same_start=True, quick_variants=2),
    Workload("gpt2", ("eager SDPA", "torch.compile"), "tokens_per_second", "tok/s", 200, 100,
             {"model": {"name": "gpt2"}, "task": "pretrain", "batch_size": 32, "seq_length": 1024, "precision": "bf16",
              "learning_rate": 3e-4, "data": {"workers": 4, "prefetch": 4}},
             loss_tolerance=0.01, same_start=True),
    Workload("resnet50", ("eager",), "samples_per_second", "img/s", 200, 60,
             {"model": {"name": "resnet50"}, "task": "classification",
              "dataset": {"name": "synthetic-images", "validation": 0.0}, "batch_size": 256, "precision": "bf16",
              "learning_rate": 1e-3, "data": {"workers": 8, "prefetch": 4}},
             note="speed only, the images differ: ours come from the host, Python's lie on the GPU"),
    Workload("mistral-lora", ("eager SDPA",), "samples_per_second", "samples/s", 60, 20, LORA, loss_tolerance=0.05,
             note=LORA_NOTE),
    Workload("mistral-lora-checkpointing", ("eager SDPA",), "samples_per_second", "samples/s", 60, 20,
             {**LORA, "gradient_checkpointing": True}, loss_tolerance=0.05, note=LORA_NOTE),
)


def workload_named(name):
    return next(workload for workload in WORKLOADS if workload.name == name)


def checked_loss(losses):
    """The loss that is compared: the mean of the last steps of the first CHECKED_STEPS."""
    window = losses[:CHECKED_STEPS][-CHECKED_WINDOW:]
    return sum(window) / len(window) if window else None
