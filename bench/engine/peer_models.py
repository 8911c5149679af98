"""The workloads in PyTorch, transformers and torchvision, as people write them today. Data lie on the GPU from the
start, and nothing is read back during training: the best that such a loop can do."""

import torch
from torch import nn
from torch.nn import functional

import data
from workloads import learning_rate


GRAPHED_FROM = 3  # steps
DEVICE = "cuda"  # of language models; "cpu" to try what compares gradients


def make_job(workload, variant, steps, text):
    makers = {"mlp": SpiralMlp, "gpt2": Gpt2, "resnet50": ResNet50, "mistral-7b": MistralLora}
    return makers[workload.spec["model"]["name"]](workload.spec, variant, steps, text)


def autocast(dtype=torch.bfloat16):
    return torch.autocast(DEVICE, dtype=dtype)


class Job:
    """A model and its training. `restart` begins anew with the weights and samples of a seed, in the same memory, so
    that nothing has to be compiled again. `start`: the first weights, by the names that the engine reads; `shared`:
    those that are the same for every seed."""

    fused_adam = True

    def __init__(self, spec, variant, steps):
        self.spec, self.variant, self.steps = spec, variant, steps
        self.model = None
        self.start, self.shared = {}, {}

    def build(self):
        """The model with random weights."""
        raise NotImplementedError

    def named_start(self):
        return dict(self.model.named_parameters())

    def load_data(self, seed):
        raise NotImplementedError

    def loss(self, i):
        raise NotImplementedError

    def prepare(self):
        """Once, when there is a model: compile it."""

    def restart(self, seed):
        torch.manual_seed(seed)
        if self.model is None:
            self.model = self.build()
            self.prepare()
        else:
            self.model.load_state_dict(self.build().state_dict())
        self.begin(seed)

    def begin(self, seed):
        self.load_data(seed)
        self.start = self.named_start()
        self.optimizer = self.make_optimizer([one for one in self.model.parameters() if one.requires_grad])

    def make_optimizer(self, trained, **more):
        # None: PyTorch's own choice, one launch for many tensors.
        return torch.optim.AdamW(trained, lr=self.spec["learning_rate"], betas=(0.9, 0.999), eps=1e-8,
                                 weight_decay=0.0, fused=True if self.fused_adam else None, **more)

    def warm_up(self, i):
        if i <= self.spec.get("warmup_steps", 0):
            for group in self.optimizer.param_groups:
                group["lr"] = learning_rate(self.spec, i)

    def loss_scale(self):
        """What the loss is multiplied by at last; None: nothing."""
        return None

    def step(self, i):
        """Returns the loss, still on the GPU."""
        self.warm_up(i)
        loss = self.loss(i)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


class SpiralMlp(Job):
    def __init__(self, spec, variant, steps, _):
        super().__init__(spec, variant, steps)
        self.fused_adam = variant != "eager"
        self.graph = None

    def build(self):
        widths = [2, *self.spec["model"]["hidden"], self.spec["dataset"]["arms"]]
        layers = []
        for width, following in zip(widths, widths[1:]):
            layers += [nn.Linear(width, following), nn.ReLU()]
        return nn.Sequential(*layers[:-1]).cuda()

    def named_start(self):
        return {f"layers.{i}.{part}": getattr(layer, part)
                for i, layer in enumerate(list(self.model)[::2]) for part in ("weight", "bias")}

    def load_data(self, seed):
        dataset = self.spec["dataset"]
        points, classes = data.spiral(seed, dataset["samples"], dataset["arms"], dataset["noise"])
        self.points, self.classes = torch.tensor(points).cuda(), torch.tensor(classes).cuda()
        self.order = torch.tensor(data.sample_order(seed, dataset["samples"], self.spec["batch_size"],
                                                    self.steps)).cuda()

    def prepare(self):
        def loss_of(points, classes):
            return functional.cross_entropy(self.model(points), classes)

        self.loss_of = torch.compile(loss_of) if self.variant == "torch.compile" else loss_of

    def begin(self, seed):
        super().begin(seed)
        self.graph = None
        self.rows = self.order[0].clone()

    def make_optimizer(self, trained):
        return super().make_optimizer(trained, capturable=self.variant == "CUDA graph")

    def loss(self, i):
        rows = self.rows if self.variant == "CUDA graph" else self.order[i]
        return self.loss_of(self.points[rows], self.classes[rows])

    def step(self, i):
        if self.variant != "CUDA graph":
            return super().step(i)
        self.rows.copy_(self.order[i])
        if i < GRAPHED_FROM:  # lets the libraries set up what a recording must not
            return self.step_on_another_stream(i)
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.graph_loss = super().step(i)
        self.graph.replay()
        return self.graph_loss.clone()

    def step_on_another_stream(self, i):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            loss = super().step(i)
        torch.cuda.current_stream().wait_stream(stream)
        return loss


class LanguageJob(Job):
    """Inputs and targets are cut from the text as engine/data/text_file.cpp does."""

    def __init__(self, spec, variant, steps, text):
        super().__init__(spec, variant, steps)
        self.text = torch.frombuffer(bytearray(text), dtype=torch.uint8).to(DEVICE)
        self.offsets = torch.arange(spec["seq_length"] + 1, device=DEVICE)
        self.products = torch.float16 if spec["precision"] == "fp16" else torch.bfloat16

    def load_data(self, seed):
        samples = (len(self.text) - 1) // self.spec["seq_length"]
        self.order = torch.tensor(data.sample_order(seed, samples, self.spec["batch_size"], self.steps)).to(DEVICE)

    def prepare(self):
        def loss_of(inputs, targets):
            logits = self.model(input_ids=inputs, use_cache=False).logits
            return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())

        self.loss_of = torch.compile(loss_of) if self.variant == "torch.compile" else loss_of

    def batch(self, i):
        tokens = self.text[self.order[i, :, None] * self.spec["seq_length"] + self.offsets].long()
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    def loss(self, i):
        with autocast(self.products):
            return self.loss_of(*self.batch(i))

    def exact_loss(self, i):
        """All in fp32: what every way of mixing precisions is an approximation of."""
        return self.loss_of(*self.batch(i))

    def begin(self, seed):
        super().begin(seed)
        self.scaler = torch.amp.GradScaler("cuda") if self.products == torch.float16 else None

    def loss_scale(self):
        return self.scaler.get_scale() if self.scaler else None

    def step(self, i):
        if not self.scaler:
            return super().step(i)
        self.warm_up(i)
        loss = self.loss(i)
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.detach()


def language_model(config, dtype):
    from transformers import AutoModelForCausalLM

    with torch.device(DEVICE):
        return AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation="sdpa").train()


class Masters:
    """AdamW on fp32 copies of bf16 parameters, whose gradients are bf16: what the engine calls `bf16_all`."""

    def __init__(self, parameters, exact, make_optimizer):
        self.parameters = parameters
        self.masters = exact
        self.optimizer = make_optimizer(exact)
        self.param_groups = self.optimizer.param_groups
        self.round()

    @torch.no_grad()
    def round(self):
        torch._foreach_copy_(self.parameters, self.masters)

    def zero_grad(self, set_to_none):
        for parameter in self.parameters:
            parameter.grad = None

    def step(self):
        gradients = [parameter.grad.float() for parameter in self.parameters]
        for master, gradient in zip(self.masters, gradients):
            master.grad = gradient
        self.optimizer.step()
        self.round()


class Gpt2(LanguageJob):
    @property
    def all_bf16(self):
        return self.spec["precision"] == "bf16_all"

    def build(self):
        from transformers import GPT2Config

        names = {"layers": "n_layer", "width": "n_embd", "heads": "n_head", "vocabulary": "vocab_size"}
        sizes = {names[key]: value for key, value in self.spec["model"].items() if key in names}
        config = GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, **sizes)
        model = language_model(config, torch.float32)
        self.exact = {name: value.detach().clone() for name, value in model.named_parameters()}
        return model.bfloat16() if self.all_bf16 else model

    def named_start(self):
        return {name: value.clone() for name, value in self.exact.items()}

    def make_optimizer(self, trained):
        if not self.all_bf16:
            return super().make_optimizer(trained)
        return Masters(trained, [self.exact[name] for name, _ in self.model.named_parameters()], super().make_optimizer)

    def loss(self, i):
        return self.loss_of(*self.batch(i)) if self.all_bf16 else super().loss(i)


class ResNet50(Job):
    def __init__(self, spec, variant, steps, _):
        super().__init__(spec, variant, steps)
        torch.backends.cudnn.benchmark = True

    def build(self):
        import torchvision

        return torchvision.models.resnet50(weights=None).cuda().to(memory_format=torch.channels_last).train()

    def prepare(self):
        self.forward = torch.compile(self.model) if self.variant == "torch.compile" else self.model

    def named_start(self):
        """By the names of Hugging Face's ResNet."""
        named = {}
        for name, value in self.model.state_dict().items():
            if name.endswith("num_batches_tracked"):
                continue
            *path, kind = name.split(".")
            named[".".join([*_hugging_face(path), kind])] = value.clone()
        return named

    def load_data(self, seed):
        """All images as autocast hands them to the first convolution."""
        size, samples = 224, self.spec["dataset"]["samples"]
        patterns, noise, starts = data.images(seed, samples)
        patterns = torch.frombuffer(bytearray(patterns), dtype=torch.uint8).cuda().view(-1, 7, 7, 3)
        noise = torch.frombuffer(bytearray(noise), dtype=torch.uint8).cuda()
        starts = torch.tensor(starts).cuda()
        self.labels = torch.arange(samples, device="cuda") % 1000
        field = torch.arange(size, device="cuda") * data.IMAGE_FIELDS // size
        pixels = torch.arange(size * size * 3, device="cuda")
        self.images = torch.empty(samples, size, size, 3, dtype=torch.bfloat16, device="cuda")
        for first in range(0, samples, 250):
            rows = slice(first, first + 250)
            painted = patterns[self.labels[rows]][:, field][:, :, field]
            painted = painted + noise[starts[rows, None] + pixels].view(painted.shape)
            self.images[rows] = (painted.float() - 118) / 60
        self.order = torch.tensor(data.sample_order(seed, samples, self.spec["batch_size"], self.steps)).cuda()

    def loss(self, i):
        rows = self.order[i]
        with autocast():
            return functional.cross_entropy(self.forward(self.images[rows].permute(0, 3, 1, 2)), self.labels[rows])


def _hugging_face(path):
    if path[0] in ("conv1", "bn1"):
        return ["resnet.embedder.embedder", "convolution" if path[0] == "conv1" else "normalization"]
    if path[0] == "fc":
        return ["classifier.1"]
    stage, block, part = int(path[0].removeprefix("layer")) - 1, path[1], path[2]
    place = f"resnet.encoder.stages.{stage}.layers.{block}"
    if part == "downsample":
        return [place, "shortcut", "convolution" if path[3] == "0" else "normalization"]
    return [place, "layer", str(int(part[-1]) - 1), "convolution" if part.startswith("conv") else "normalization"]


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


class MistralLora(LanguageJob):
    """Every seed has the same 14 GB of frozen weights, and its own adapters and order of samples."""

    def build(self):
        from transformers import MistralConfig

        model = language_model(MistralConfig(sliding_window=None, rms_norm_eps=1e-5), torch.bfloat16)
        model.requires_grad_(False)
        lora = self.spec["lora"]
        for layer in model.model.layers:
            for target in lora["targets"]:
                adapted = LoraLinear(getattr(layer.self_attn, target), lora["rank"], lora["alpha"])
                setattr(layer.self_attn, target, adapted)
        if self.spec.get("gradient_checkpointing"):
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        return model

    def restart(self, seed):
        if self.model is None:
            return super().restart(seed)
        torch.manual_seed(seed)
        for module in self.model.modules():
            if isinstance(module, LoraLinear):
                module.down.reset_parameters()
                nn.init.zeros_(module.up.weight)
        self.begin(seed)

    def named_start(self):
        adapters = {"frozen": "", "down": "lora_A.", "up": "lora_B."}
        own = {}
        for name, value in self.model.named_parameters():
            for part, ours in adapters.items():
                name = name.replace(f"_proj.{part}.", f"_proj.{ours}")
            (own if value.requires_grad else self.shared)[name] = value
        return own
