"""Makes tiny models with Hugging Face's transformers, and their logits, for the engine's tests.

    python3 scripts/make_engine_reference.py OUT_FOLDER

For each model NAME/model.safetensors (fp32, Hugging Face's names, tied weights once) and NAME/expected.json: `model`
and `task` as in a specification, `tokens` (2 × 8), and `logits`, row by row, for tokens × vocabulary. On the CPU, with
eager attention; the same versions of torch and transformers give the same files.
"""

import json
import sys
from pathlib import Path

try:
    import torch
    import transformers
    from safetensors.torch import load_file, save_file
except ImportError as error:
    print(f"make_engine_reference: {error}: it needs PyTorch, transformers and safetensors", file=sys.stderr)
    sys.exit(3)

VOCABULARY = 64
LAYERS = 2
SAMPLES, LENGTH = 2, 8
SMALLEST_EFFECT = 1e-3  # of the rope scaling on the logits: well above rounding, else the reference would not test it


def gpt2():
    config = transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=1024, n_embd=16, n_layer=LAYERS, n_head=2,
                                     bos_token_id=0, eos_token_id=0)
    return transformers.GPT2LMHeadModel, config, {"name": "gpt2", "width": 16, "heads": 2}, "pretrain"


def llama(name, width, heads, kv_heads, inner_width, rope):
    config = transformers.LlamaConfig(vocab_size=VOCABULARY, hidden_size=width, intermediate_size=inner_width,
                                      num_hidden_layers=LAYERS, num_attention_heads=heads,
                                      num_key_value_heads=kv_heads, max_position_embeddings=131072, rms_norm_eps=1e-5,
                                      tie_word_embeddings=False, rope_parameters=rope)
    spec = {"name": name, "width": width, "heads": heads, "kv_heads": kv_heads}
    return transformers.LlamaForCausalLM, config, spec, "pretrain"


def bert():
    config = transformers.BertConfig(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=LAYERS,
                                     num_attention_heads=2, intermediate_size=64, max_position_embeddings=512)
    return transformers.BertForMaskedLM, config, {"name": "bert-base", "width": 16, "heads": 2}, "masked-lm"


PLAIN_ROPE = {"rope_type": "default", "rope_theta": 10000.0}
LLAMA3_ROPE = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
               "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
UNSCALED_LLAMA3_ROPE = {"rope_type": "default", "rope_theta": 500000.0}


def llama3(rope):
    return llama("llama-3.1-8b", 16, 2, 1, 56, rope)


# Inner widths are what the engine makes of the widths, in the ratio of the named model. Four heads over two pairs of
# keys and values show which head takes which.
MODELS = {"gpt2": gpt2(), "bert": bert(), "llama": llama("tinyllama-1.1b", 32, 4, 2, 88, PLAIN_ROPE),
          "llama3": llama3(LLAMA3_ROPE)}


def build(model_class, config):
    config._attn_implementation = "eager"
    return model_class(config).float().eval()


def randomise(model):
    """Weights large enough that every part of the model shows in the logits; norms near one, biases not zero."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.normal_(1.0 if name.endswith("weight") else 0.0, 0.1)
            else:
                # Sharp attention, or the small angles of scaled positions would not show.
                parameter.normal_(0.0, 0.75 if "q_proj" in name or "k_proj" in name else 0.25)
            if "wpe" in name or "position_embeddings" in name:
                parameter[LENGTH:] = 0  # nothing here reads them, and zeros pack well


def stored_once(model):
    """The state without the second names of tied weights, as Hugging Face saves it."""
    state, seen = {}, set()
    for name, value in model.state_dict().items():
        if value.data_ptr() in seen:
            continue
        seen.add(value.data_ptr())
        state[name] = value.contiguous()
    return state


def logits_of(model, tokens):
    with torch.no_grad():
        return model(input_ids=tokens).logits


def logits_from_file(model_class, config, path, tokens):
    """What a reader of the file gets, so that the file is known to be complete."""
    model = build(model_class, config)
    randomise(model)
    model.load_state_dict(load_file(path), strict=False)
    model.tie_weights()
    return logits_of(model, tokens)


def make(name, folder):
    model_class, config, spec, task = MODELS[name]
    torch.manual_seed(1)
    model = build(model_class, config)
    randomise(model)
    tokens = torch.randint(1, VOCABULARY, (SAMPLES, LENGTH))
    logits = logits_of(model, tokens)
    folder.mkdir(parents=True, exist_ok=True)
    weights = folder / "model.safetensors"
    save_file(stored_once(model), weights, metadata={"format": "pt"})
    if not torch.allclose(logits_from_file(model_class, config, weights, tokens), logits, rtol=0, atol=1e-5):
        sys.exit(f"make_engine_reference: {weights} does not give the model's logits")
    if name == "llama3":
        unscaled = logits_from_file(model_class, llama3(UNSCALED_LLAMA3_ROPE)[1], weights, tokens)
        effect = (unscaled - logits).abs().max().item()
        print(f"the rope scaling moves logits by up to {effect:.2g}")
        if effect < SMALLEST_EFFECT:
            sys.exit("make_engine_reference: that is too little to test it")
    expected = {"made_with": {"torch": torch.__version__, "transformers": transformers.__version__},
                "model": {**spec, "layers": LAYERS, "vocabulary": VOCABULARY},
                "task": task,
                "tokens": tokens.tolist(),
                "logits": [round(value, 6) for value in logits.flatten().tolist()]}
    (folder / "expected.json").write_text(json.dumps(expected) + "\n")
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"{folder}: {size / 1000:.0f} kB, logits {logits.min():.2f} … {logits.max():.2f}")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    for model_name in MODELS:
        make(model_name, Path(sys.argv[1]) / model_name)
