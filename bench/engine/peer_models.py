"""The workloads in PyTorch, transformers and torchvision, as people write them today. Data lie on the GPU from the
start, and nothing is read back during training: the best that such a loop can do."""

from dataclasses import dataclass, field
from typing import Callable

import torch
from torch import nn
from torch.nn import functional

import data
from workloads import SEED


@dataclass
class Job:
    step: Callable  # of the step's number; returns the loss, still on the GPU
    model: nn.Module
    start: dict = field(default_factory=dict)  # the first weights, by the names that the engine reads


def make_job(workload, variant, steps, text):
    torch.manual_seed(SEED)
    makers = {"mlp": spiral_mlp, "gpt2": gpt2, "resnet50": resnet50, "mistral-7b": mistral_lora}
    return makers[workload.spec["model"]["name"]](workload.spec, variant, steps, text)


def adamw(model, spec, fused):
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    # None: PyTorch's own choice, one launch for many tensors.
    return torch.optim.AdamW(trained, lr=spec["learning_rate"], betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0,
                             fused=True if fused else None)


def learn(optimizer, loss):
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss.detach()


def autocast():
    return torch.autocast("cuda", dtype=torch.bfloat16)


def spiral_mlp(spec, variant, steps, _):
    dataset = spec["dataset"]
    points, classes = data.spiral(SEED, dataset["samples"], dataset["arms"], dataset["noise"])
    points, classes = torch.tensor(points).cuda(), torch.tensor(classes).cuda()
    order = torch.tensor(data.sample_order(SEED, dataset["samples"], spec["batch_size"], steps)).cuda()
    widths = [2, *spec["model"]["hidden"], dataset["arms"]]
    layers = []
    for width, following in zip(widths, widths[1:]):
        layers += [nn.Linear(width, following), nn.ReLU()]
    model = nn.Sequential(*layers[:-1]).cuda()
    optimizer = adamw(model, spec, fused=variant == "fused Adam")

    def step(i):
        rows = order[i]
        return learn(optimizer, functional.cross_entropy(model(points[rows]), classes[rows]))

    start = {}
    for i, layer in enumerate(layers[::2]):
        start |= {f"layers.{i}.weight": layer.weight, f"layers.{i}.bias": layer.bias}
    return Job(step, model, start)


class TextWindows:
    """Inputs and targets of each step, cut from the text as engine/data/text_file.cpp does."""

    def __init__(self, spec, steps, text):
        self.length = spec["seq_length"]
        self.text = torch.frombuffer(bytearray(text), dtype=torch.uint8).cuda()
        samples = (len(text) - 1) // self.length
        self.order = torch.tensor(data.sample_order(SEED, samples, spec["batch_size"], steps)).cuda()
        self.offsets = torch.arange(self.length + 1, device="cuda")

    def __getitem__(self, i):
        tokens = self.text[self.order[i, :, None] * self.length + self.offsets].long()
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


def language_model(config, dtype):
    from transformers import AutoModelForCausalLM

    with torch.device("cuda"):
        return AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation="sdpa").train()


def language_loss(model):
    def loss_of(inputs, targets):
        logits = model(input_ids=inputs, use_cache=False).logits
        return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())

    return loss_of


def gpt2(spec, variant, steps, text):
    from transformers import GPT2Config

    model = language_model(GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0), torch.float32)
    start = {name: value for name, value in model.state_dict().items() if name != "lm_head.weight"}
    loss_of = language_loss(model)
    if variant == "torch.compile":
        loss_of = torch.compile(loss_of)
    optimizer = adamw(model, spec, fused=True)
    windows = TextWindows(spec, steps, text)

    def step(i):
        with autocast():
            loss = loss_of(*windows[i])
        return learn(optimizer, loss)

    return Job(step, model, start)


def resnet50(spec, variant, steps, _):
    import torchvision

    torch.backends.cudnn.benchmark = True
    model = torchvision.models.resnet50(weights=None).cuda().to(memory_format=torch.channels_last).train()
    optimizer = adamw(model, spec, fused=True)
    shape = (spec["batch_size"], 3, 224, 224)
    images = [torch.randn(shape, device="cuda").to(memory_format=torch.channels_last) for _ in range(4)]
    labels = [torch.randint(1000, shape[:1], device="cuda") for _ in range(4)]

    def step(i):
        with autocast():
            loss = functional.cross_entropy(model(images[i % 4]), labels[i % 4])
        return learn(optimizer, loss)

    return Job(step, model)


class LoraLinear(nn.Module):
    """A frozen layer and its two small trained factors, which are kept in fp32."""

    def __init__(self, frozen, rank, alpha):
        super().__init__()
        self.frozen = frozen
        self.down = nn.Linear(frozen.in_features, rank, bias=False, device="cuda", dtype=torch.float32)
        self.up = nn.Linear(rank, frozen.out_features, bias=False, device="cuda", dtype=torch.float32)
        nn.init.zeros_(self.up.weight)
        self.scale = alpha / rank

    def forward(self, x):
        return self.frozen(x) + self.up(self.down(x)) * self.scale


def mistral_lora(spec, variant, steps, text):
    from transformers import MistralConfig

    model = language_model(MistralConfig(sliding_window=None, rms_norm_eps=1e-5), torch.bfloat16)
    model.requires_grad_(False)
    lora = spec["lora"]
    for layer in model.model.layers:
        for target in lora["targets"]:
            adapted = LoraLinear(getattr(layer.self_attn, target), lora["rank"], lora["alpha"])
            setattr(layer.self_attn, target, adapted)
    if spec.get("gradient_checkpointing"):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    loss_of = language_loss(model)
    optimizer = adamw(model, spec, fused=True)
    windows = TextWindows(spec, steps, text)

    def step(i):
        with autocast():
            loss = loss_of(*windows[i])
        return learn(optimizer, loss)

    return Job(step, model)
