#include "spec/spec_setting.h"

namespace assay {
namespace {

constexpr Kinds kTrain = SpecKind::train;
constexpr Kinds kServe = SpecKind::serve;
constexpr Kinds kNode = SpecKind::node;
constexpr Kinds kCommand = SpecKind::command;
constexpr Kinds kNull = SpecKind::null;
constexpr Kinds kModelled = kTrain | kServe;
constexpr Kinds kPlaced = kTrain | kServe | kCommand;
constexpr Kinds kRanked = kTrain | kCommand | kNull;

// Large enough for anybody, small enough to stay exact in a double.
constexpr double kMostCount = 1e12;
constexpr Range kCount{1, kMostCount};
constexpr Range kCountOrZero{0, kMostCount};
constexpr double kDay = 86400;
constexpr Range kTimeSpan{0, 365 * kDay, true};

using enum SettingType;
using enum SpecType;

SpecSetting row(std::string_view key, Kinds kinds, SettingType type, std::string_view default_value,
                std::string_view description, std::string_view example, SettingRule rule = {}) {
  return {{key, type, default_value, description, example, std::move(rule)}, kinds};
}

SpecSetting row(std::string_view key, Kinds kinds, SpecType type, std::string_view default_value,
                std::string_view description, std::string_view example, SettingRule rule = {}) {
  return {{key, own, default_value, description, example, std::move(rule)}, kinds, type};
}

/// A setting that cannot differ between the runs of a study.
SpecSetting whole_study(SpecSetting setting) {
  setting.whole_study = true;
  return setting;
}

std::vector<SpecSetting> common_settings() {
  return {
      whole_study(row("kind", kEveryKind, choice, "", "What is measured.", "train",
                      {.choices = {"train", "serve", "node", "command", "null"}, .required = true})),
      whole_study(row("name", kEveryKind, run_name, "", "Name of the run or study in lists and reports.",
                      "lora-baseline", {.range = Range{1, 200}, .otherwise = "the file's name"})),
      whole_study(row("tags", kEveryKind, tags, "[]", "Labels to find runs by: bare words or `key=value`.",
                      "[nightly, team=vision]")),
      whole_study(row("notes", kEveryKind, text, "", "Free text that is kept with the results.",
                      "first try with the new driver", {.range = Range{0, 100000}, .otherwise = "none"})),
      row("seed", kEveryKind, whole, "1",
          "Start of every random number of the first repeat; also fixes the order of repeats.", "7",
          {.range = Range{0, 9007199254740991}}),
      whole_study(row(
          "seeds", kEveryKind, choice, "per_repeat",
          "Whether each repeat gets a seed of its own, derived from `seed` and the same in every configuration, or all "
          "have the `same`. Repeats of one seed show the noise of the machine, not that of the training.",
          "same", {.choices = {"per_repeat", "same"}})),
      row("time_limit", kEveryKind, duration, "", "The run is ended when it takes longer, with error kind `timeout`.",
          "30min", {.range = kTimeSpan, .otherwise = "no limit"}),
      row("price", kEveryKind, price, "", "Price of a GPU hour (`GPUh`) or a node hour (`h`), for cost figures.",
          "0.60 USD/GPUh", {.range = Range{0, 1e6}, .otherwise = "no cost figures"}),
      row("expect", kEveryKind, expectations, "{}",
          "Values that you expect, by metric name. A miss is listed in the report; it does not fail the run.",
          "{samples_per_second: 1.46, gpu_memory: 20GB}"),
      whole_study(row(
          "goals", kEveryKind, goals, "{}",
          "What the study is about, by metric name, and which way is better: these come first in reports and decide "
          "what is recommended. Needed for names that say nothing by themselves.",
          "{f1_score: higher, my_penalty: lower}")),
      whole_study(row("nodes", kTrain | kServe | kCommand | kNull, nodes, "",
                      "Names of the nodes the run must use, or `all`.", "[gpu01, gpu02]", {.otherwise = "anywhere"})),
      whole_study(row("nodes", kNode, nodes, "all", "Names of the nodes to check, or `all`.", "[gpu01, gpu02]")),
      whole_study(row("each_node", kEveryKind, boolean, "false",
                      "One run on each of `nodes` instead of one run over all of them.", "true")),
      whole_study(row("repeat", kEveryKind, whole, "1",
                      "How often every configuration runs; five or more allow statements about differences.", "5",
                      {.range = Range{1, 10000}})),
      whole_study(row("matrix", kEveryKind, matrix, "",
                      "Variants of the settings above, each with a name and its changes.",
                      "[{name: shorter, seq_length: 512}]", {.otherwise = "one configuration"})),
      whole_study(row("sweep", kEveryKind, sweep, "", "Lists of values; every combination runs.",
                      "{batch_size: [16, 32, 64]}", {.otherwise = "one configuration"})),
      whole_study(row("scale", kRanked, scale, "", "Sizes to run at: ranks, or `{ranks: 8, nodes: 2}`.",
                      "[1, 4, {ranks: 8, nodes: 2}]", {.otherwise = "one size"})),
      whole_study(
          row("scaling", kTrain, choice, "weak",
              "What `scale` keeps: `weak` the batch of each rank, so that the effective batch grows; `strong` the "
              "effective "
              "batch, so that `batch_size` is divided among the ranks.",
              "strong", {.choices = {"weak", "strong"}})),
      row("gpu", kPlaced, group, "", "The GPUs it needs: a model, or a mapping with details.",
          "{model: H200, memory: 80GB}", {.shorthand = "model"}),
      row("gpu.model", kPlaced, text, "",
          "Model of each GPU, as whole words of the name that the driver gives. A leader places the run there; "
          "elsewhere "
          "a run that had another one is flagged.",
          "H200", {.range = Range{1, 100}, .otherwise = "any"}),
      row("gpu.memory", kPlaced, bytes, "", "Memory of each GPU, at least.", "80GB",
          {.range = Range{1, 1e15}, .otherwise = "any"}),
      row("gpu.linked", kPlaced, boolean, "", "GPUs of one node must have NVLink to each other; a leader sees to it.",
          "true", {.otherwise = "they need not"}),
      row("ranks", kRanked, whole, "1",
          "Processes that work together. A command starts them itself: write `{ranks}` where it needs their number.",
          "4", {.range = Range{1, 65536}}),
  };
}

std::vector<SpecSetting> model_settings() {
  const std::vector<std::string_view> known = {
      "mlp",     "resnet18",       "resnet50",     "bert-base",    "gpt2",       "gpt2-medium", "gpt2-large",
      "gpt2-xl", "tinyllama-1.1b", "llama-3.2-1b", "llama-3.1-8b", "mistral-7b", "generated"};
  return {
      row("model", kModelled, group, "", "The model: its name, or a mapping to change its size.",
          "{name: gpt2, layers: 2, width: 64, heads: 2}", {.shorthand = "name"}),
      row("model.name", kTrain, choice, "mlp", "Which built-in model.", "gpt2", {.choices = known}),
      row("model.name", kServe, text, "tinyllama-1.1b",
          "Which model; a built-in one for `target: engine`, else the name that the server knows.", "llama-3.1-8b",
          {.range = Range{1, 200}}),
      row("model.hidden", kTrain, wholes, "[64, 32, 16]", "Widths of the hidden layers.", "[64, 32, 16]",
          {.range = Range{1, 1e6}, .needs = Need{"model.name", {"mlp"}}}),
      row("model.blocks", kTrain, choices, "[fc]", "Kinds of block that a generated model is stacked from.",
          "[fc, residual]",
          {.choices = {"fc", "residual", "lstm", "attention"}, .needs = Need{"model.name", {"generated"}}}),
      row("model.layers", kModelled, whole, "", "Number of layers (blocks).", "2",
          {.range = Range{1, 10000}, .otherwise = "that of the named model"}),
      row("model.width", kModelled, whole, "", "Width of a layer (hidden size).", "64",
          {.range = Range{1, 1e6}, .otherwise = "that of the named model"}),
      row("model.heads", kModelled, whole, "", "Attention heads; must divide the width.", "2",
          {.range = Range{1, 10000}, .otherwise = "that of the named model"}),
      row("model.kv_heads", kModelled, whole, "", "Key/value heads of grouped-query attention; must divide the heads.",
          "1", {.range = Range{1, 10000}, .otherwise = "that of the named model"}),
      row("model.vocabulary", kModelled, whole, "",
          "Number of tokens known; for `text:` read as bytes 256 unless `weights` are given.", "512",
          {.range = Range{2, 1e7}, .otherwise = "that of the named model"}),
      row("model.weights", kModelled, text, "", "Folder or file with safetensors in the Hugging Face layout.",
          "/models/gpt2", {.range = Range{1, 4096}, .otherwise = "random weights"}),
  };
}

std::vector<SpecSetting> data_settings() {
  return {
      row("task", kTrain, choice, "", "What is learnt.", "lora",
          {.choices = {"classification", "pretrain", "masked-lm", "finetune", "lora"},
           .otherwise = "the usual one for the model"}),
      row("dataset", kTrain, group, "", "The data: a name, or a mapping with details.",
          "{name: spiral, samples: 10000}", {.shorthand = "name"}),
      row("dataset.name", kTrain, dataset, "", "A generated data set, or a local one with its path.", "text:corpus.txt",
          {.choices = {"spiral", "synthetic-images", "synthetic-tokens", "markov-text", "text:", "cifar10:"},
           .otherwise = "a generated one that fits the model"}),
      row("dataset.samples", kTrain, whole, "", "Samples to generate or to use.", "10000",
          {.range = kCount, .otherwise = "10,000 generated ones, or all of the file's"}),
      row("dataset.validation", kTrain, number, "0.1", "Share of the samples kept for validation.", "0.2",
          {.range = Range{0, 1, false, true}}),
      row("dataset.arms", kTrain, whole, "2", "Arms (classes) of the spiral.", "3",
          {.range = Range{2, 1000}, .needs = Need{"dataset.name", {"spiral"}}}),
      row("dataset.noise", kTrain, number, "0.1", "Standard deviation of the noise on the spiral.", "0.2",
          {.range = Range{0, 100}, .needs = Need{"dataset.name", {"spiral"}}}),
      row("dataset.tokenizer", kTrain, text, "", "A local `tokenizer.json`.", "/models/gpt2/tokenizer.json",
          {.range = Range{1, 4096}, .needs = Need{"dataset.name", {"text:"}}, .otherwise = "one token per byte"}),
      row("data.workers", kTrain, whole, "1", "Threads that prepare batches; 0: none, the training thread does it.",
          "4", {.range = Range{0, 256}}),
      row("data.prefetch", kTrain, whole, "2", "Batches prepared ahead.", "4", {.range = Range{0, 1024}}),
      row("data.tokenize", kTrain, choice, "ahead", "When text becomes tokens.", "on_the_fly",
          {.choices = {"ahead", "on_the_fly"}}),
  };
}

std::vector<SpecSetting> train_settings() {
  const std::vector<std::string_view> language = {"pretrain", "masked-lm", "finetune", "lora"};
  return {
      row("epochs", kTrain, whole, "10", "Length of the training in passes over the data.", "50",
          {.range = kCount, .family = "length"}),
      row("steps", kTrain, whole, "", "Length of the training in optimiser steps.", "200",
          {.range = kCount, .family = "length", .otherwise = "`epochs` decides"}),
      row("duration", kTrain, duration, "", "Length of the training in time.", "2min",
          {.range = kTimeSpan, .family = "length", .otherwise = "`epochs` decides"}),
      row("batch_size", kTrain, whole, "32", "Samples per rank and step.", "64", {.range = Range{1, 1e9}}),
      row("gradient_accumulation", kTrain, whole, "1", "Batches added up before an optimiser step.", "4",
          {.range = Range{1, 1e6}}),
      row("seq_length", kTrain, whole, "512", "Tokens per sample.", "1024",
          {.range = Range{1, 1e7}, .needs = Need{"task", language}}),
      row("learning_rate", kTrain, number, "1e-3", "Learning rate after the warm-up.", "2e-4",
          {.range = Range{0, 1000, true}}),
      row("schedule", kTrain, choice, "constant", "Course of the learning rate after the warm-up.", "cosine",
          {.choices = {"constant", "linear", "cosine"}}),
      row("warmup_steps", kTrain, whole, "0", "Steps in which the learning rate rises from 0.", "100",
          {.range = kCountOrZero}),
      row("gradient_clipping", kTrain, number, "0", "Largest gradient norm; 0: not limited.", "1.0",
          {.range = Range{0, 1e9}}),
      row("optimizer", kTrain, choice, "adamw",
          "The `_8bit` ones keep their states in 8 bits; the `paged_` one keeps them in pinned host memory.",
          "paged_adamw_8bit", {.choices = {"sgd", "adam", "adamw", "adamw_8bit", "paged_adamw_8bit"}}),
      row("weight_decay", kTrain, number, "0", "Weight decay of the optimiser.", "0.01", {.range = Range{0, 1}}),
      row("lora", kTrain, group, "", "Size and place of the adapters.", "{rank: 16, alpha: 32}",
          {.needs = Need{"task", {"lora"}}}),
      row("lora.rank", kTrain, whole, "16", "Rank of the adapters.", "8",
          {.range = Range{1, 65536}, .needs = Need{"task", {"lora"}}}),
      row("lora.alpha", kTrain, number, "32", "Scale of the adapters: their output is multiplied by alpha / rank.",
          "32", {.range = Range{0, 1e6, true}, .needs = Need{"task", {"lora"}}}),
      row("lora.targets", kTrain, texts, "[q_proj, v_proj]", "Layers that get adapters.",
          "[q_proj, k_proj, v_proj, o_proj]", {.range = Range{1, 200}, .needs = Need{"task", {"lora"}}}),
      row("gradient_checkpointing", kTrain, boolean, "false",
          "Computes activations again in the backward pass instead of keeping them: slower, less memory.", "true"),
      row("dropout", kTrain, number, "0", "Share of activations dropped.", "0.1", {.range = Range{0, 1, false, true}}),
      row("eval_interval", kTrain, whole, "0", "Steps between evaluations; 0: after each epoch and at the end.", "100",
          {.range = kCountOrZero}),
      row("cuda_graphs", kTrain, choice, "auto", "Records a step once and replays it, to save launch time.", "off",
          {.choices = {"auto", "on", "off"}}),
      row("profile", kTrain, whole, "0", "Steps to record as a Chrome trace; such a run is flagged.", "10",
          {.range = Range{0, 10000}}),
  };
}

std::vector<SpecSetting> device_settings() {
  return {
      row("device", kModelled, choice, "auto", "Where the model runs; `auto`: a GPU if there is one.", "cuda",
          {.choices = {"auto", "cpu", "cuda"}}),
      row("precision", kTrain, choice, "fp32",
          "Number format of products. bf16 and fp16 are what PyTorch's autocast means; `_all`: the residual stream and "
          "all gradients in it, too. fp16 comes with loss scaling.",
          "bf16", {.choices = {"fp32", "tf32", "bf16", "fp16", "bf16_all", "fp16_all"}}),
      row("precision", kServe, choice, "bf16", "Number format of the computation.", "fp16",
          {.choices = {"fp32", "tf32", "bf16", "fp16"}}),
      row("attention", kModelled, choice, "sdpa", "Attention kernel; one that the device lacks is refused.", "flash",
          {.choices = {"eager", "math", "flash", "efficient", "cudnn", "sdpa"}}),
  };
}

std::vector<SpecSetting> target_settings() {
  const Need server{"target.name", {"openai"}};
  const Need nothing{"target.name", {"null"}};
  return {
      row("target", kServe, group, "",
          "What is put under load: `engine`, `null`, or a server that speaks OpenAI's API.",
          "{openai: \"http://host:8000/v1\", token_env: KEY}", {.shorthand = "name"}),
      row("target.name", kServe, choice, "engine", "The built-in engine, or a target that does nothing.", "null",
          {.choices = {"engine", "null", "openai"}}),
      row("target.openai", kServe, url, "", "Base address of a server that speaks OpenAI's API.",
          "\"http://host:8000/v1\"", {.otherwise = "not used"}),
      row("target.token_env", kServe, variable, "", "Environment variable that holds the server's token.", "API_KEY",
          {.otherwise = "no token is sent"}),
      row("target.service_time", kServe, duration, "0s",
          "Time that the target `null` takes for an answer, once it has begun.", "20ms",
          {.range = Range{0, kDay}, .needs = nothing}),
      row("target.slots", kServe, whole, "0", "Answers that the target `null` can give at once; 0: any number.", "8",
          {.range = Range{0, 1e6}, .needs = nothing}),
      row("target.token_file", kServe, path, "", "File that holds the server's token.", "/etc/assay/api.token",
          {.range = Range{1, 4096}, .needs = server, .otherwise = "no token is sent"}),
      row("target.api", kServe, choice, "chat",
          "Which of the server's ways to ask: `/chat/completions` or `/completions`.", "completions",
          {.choices = {"chat", "completions"}, .needs = server}),
      row("target.endpoints", kServe, texts, "", "Further servers that share the load.", "[\"http://gpu02:8000/v1\"]",
          {.range = Range{1, 1000}, .needs = server, .items = "addresses", .otherwise = "one server"}),
      row("target.weights", kServe, wholes, "",
          "Shares of the servers, that of `openai` first, then those of `endpoints`.", "[1, 2]",
          {.range = Range{1, 1000}, .needs = server, .otherwise = "equal"}),
      row("target.balance", kServe, choice, "round_robin",
          "Which server a request goes to: in turn, or the one that has the fewest under way.", "least_outstanding",
          {.choices = {"round_robin", "least_outstanding"}, .needs = server}),
      row("target.stream", kServe, boolean, "true", "Answers come token by token; without it no first token is seen.",
          "false", {.needs = server}),
      row("target.temperature", kServe, number, "0", "Sampling temperature that is asked for.", "0.7",
          {.range = Range{0, 100}, .needs = server}),
      row("target.ignore_eos", kServe, boolean, "false",
          "Asks the server to go on to the last token wanted. vLLM, SGLang and others know it; some refuse it.", "true",
          {.needs = server}),
      row("target.extra_body", kServe, parameters, "{}", "Added to the body of every request.", "{top_p: 0.9}",
          {.needs = server}),
      row("target.headers", kServe, texts, "", "Header fields added to every request, `Name: value`.",
          "[\"X-Tenant: bench\"]",
          {.range = Range{1, 8192}, .needs = server, .items = "header fields", .otherwise = "none"}),
      row("target.ca_file", kServe, path, "", "Authority (PEM) that an https server's certificate must come from.",
          "/etc/assay/ca.pem", {.range = Range{1, 4096}, .needs = server, .otherwise = "the system's authorities"}),
      row("target.retries", kServe, whole, "0",
          "How often a request is sent again that the server was too busy for or that found no connection. Latency "
          "still counts from the time it was due. Not with MLPerf's scenarios, which send each request once.",
          "3", {.range = Range{0, 100}, .needs = server}),
      row("target.connections", kServe, whole, "8192",
          "Most connections at a time; requests beyond wait in the client.", "256",
          {.range = Range{1, 1e6}, .needs = server}),
      row("target.threads", kServe, whole, "1",
          "Threads of the client; one is enough for tens of thousands of requests a second.", "4",
          {.range = Range{1, 256}, .needs = server}),
      row("target.software", kServe, text, "", "What serves, for tables of results: a client cannot see it.",
          "vLLM 0.11", {.range = Range{1, 200}, .needs = server, .otherwise = "not stated"}),
      row("target.device", kServe, text, "", "What the server computes on, for tables of results.", "2 × H100",
          {.range = Range{1, 200}, .needs = server, .otherwise = "this machine's, if the server's address is"}),
      row("target.check", kServe, boolean, "true",
          "Asks the server for its models and for one token before the load starts.", "false", {.needs = server}),
  };
}

/// How long prompts or answers are.
std::vector<SpecSetting> length_settings() {
  const Need generated{"requests.dataset", {"generated", "conversation"}};
  const Need asked{"requests.dataset", {"generated", "conversation", "file:"}};
  return {
      row("requests.input_tokens", kServe, whole, "128",
          "Tokens of each prompt, on average; of each question of a conversation. Generated words are about one token "
          "each.",
          "67", {.range = Range{1, 1e7}, .needs = generated}),
      row("requests.input_distribution", kServe, choice, "fixed", "How the lengths of prompts are distributed.",
          "lognormal", {.choices = {"fixed", "uniform", "normal", "lognormal"}, .needs = generated}),
      row("requests.input_spread", kServe, number, "0",
          "Standard deviation of the lengths of prompts in tokens; `uniform`: so many more or less.", "20",
          {.range = Range{0, 1e7}, .needs = generated}),
      row("requests.input_min", kServe, whole, "1", "No prompt is shorter.", "16",
          {.range = Range{1, 1e7}, .needs = generated}),
      row("requests.input_max", kServe, whole, "", "No prompt is longer.", "2048",
          {.range = Range{1, 1e7}, .needs = generated, .otherwise = "not limited"}),
      row("requests.output_tokens", kServe, whole, "64",
          "Tokens asked for, on average; with `file:` where a line does not say it.", "32",
          {.range = Range{1, 1e7}, .needs = asked}),
      row("requests.output_distribution", kServe, choice, "fixed",
          "How the numbers of tokens asked for are distributed.", "lognormal",
          {.choices = {"fixed", "uniform", "normal", "lognormal"}, .needs = generated}),
      row("requests.output_spread", kServe, number, "0",
          "Standard deviation of the tokens asked for; `uniform`: so many more or less.", "10",
          {.range = Range{0, 1e7}, .needs = generated}),
      row("requests.output_min", kServe, whole, "1", "No request asks for fewer.", "16",
          {.range = Range{1, 1e7}, .needs = generated}),
      row("requests.output_max", kServe, whole, "", "No request asks for more.", "512",
          {.range = Range{1, 1e7}, .needs = generated, .otherwise = "not limited"}),
  };
}

std::vector<SpecSetting> request_settings() {
  const Need generated{"requests.dataset", {"generated"}};
  const Need shaped{"requests.dataset", {"generated", "summarisation", "news"}};
  const Need conversation{"requests.dataset", {"conversation"}};
  std::vector<SpecSetting> all = {
      row("requests.dataset", kServe, dataset, "generated",
          "What is asked: `generated` words; lengths like those of `summarisation` (66.8 tokens in, 31.3 out, at most "
          "32) or "
          "of `news` articles (780 in, 128 out); a `conversation` of several turns; a file of your own, one JSON "
          "object "
          "on each line: `prompt` or `messages`, `max_tokens`, `reference`. With `scenario: trace` the trace decides.",
          "file:requests.jsonl", {.choices = {"generated", "summarisation", "news", "conversation", "file:"}}),
  };
  for (SpecSetting& setting : length_settings()) all.push_back(std::move(setting));
  for (SpecSetting& setting : std::vector<SpecSetting>{
           row("requests.lengths_from", kServe, path, "",
               "Trace whose lengths are drawn from, at random, in place of the settings above.", "azure.csv",
               {.range = Range{1, 4096}, .needs = generated, .otherwise = "the settings above"}),
           row("requests.shared_prefix", kServe, number, "0",
               "Share of each prompt, from its start, that it has in common with others: what a prefix cache can save. "
               "Prompts of different runs have nothing in common.",
               "0.5", {.range = Range{0, 1}, .needs = shaped}),
           row("requests.prefixes", kServe, whole, "1", "Number of different shared prefixes.", "10",
               {.range = Range{1, 1e6}, .needs = shaped}),
           row("requests.turns", kServe, whole, "4", "Requests of one conversation, each with the history before it.",
               "8", {.range = Range{1, 1000}, .needs = conversation}),
           row("requests.conversations", kServe, whole, "16",
               "Conversations that take turns: so many requests lie between two of one conversation.", "64",
               {.range = Range{1, 1e6}, .needs = conversation}),
           row("requests.system_tokens", kServe, whole, "32",
               "Tokens of the system message that all conversations share; 0: none.", "500",
               {.range = Range{0, 1e6}, .needs = conversation}),
       }) {
    all.push_back(std::move(setting));
  }
  return all;
}

std::vector<SpecSetting> serve_settings() {
  const std::vector<std::string_view> open_loop = {"server", "constant", "burst", "ramp"};
  return {
      row("layout", kServe, choice, "datacenter", "How several nodes share the load.", "coordinated",
          {.choices = {"datacenter", "coordinated", "distributed"}}),
      row("scenario", kServe, choice, "server", "When requests are sent.", "offline",
          {.choices = {"single_stream", "multi_stream", "server", "offline", "constant", "burst", "closed", "ramp",
                       "trace"}}),
      row("rate", kServe, rate, "10/s", "Requests offered per second; the start of a `ramp`.", "20/s",
          {.range = Range{0, 1e7, true}, .family = "load", .needs = Need{"scenario", open_loop}}),
      row("find_peak", kServe, latency_limits, "",
          "Finds the highest rate that keeps these latencies, or MLPerf's for the model.",
          "{ttft_p99: 2s, tpot_p99: 100ms}",
          {.range = kTimeSpan,
           .family = "load",
           .needs = Need{"scenario", {"server", "constant", "burst"}},
           .otherwise = "`rate` decides"}),
      row("burst.size", kServe, number, "10",
          "How uneven arrivals are: about so many come close together; 1 is at random, less is more even.", "50",
          {.range = Range{0, 1e6, true}, .needs = Need{"scenario", {"burst"}}}),
      row("ramp.to", kServe, SettingType::rate, "100/s", "Rate at the end of the ramp.", "200/s",
          {.range = Range{0, 1e7, true}, .needs = Need{"scenario", {"ramp"}}}),
      row("ramp.duration", kServe, duration, "60s",
          "Time from the first rate to the last. The load lasts as long, whatever `min_duration` and `samples` say, or "
          "longer where they ask for more.",
          "5min", {.range = kTimeSpan, .needs = Need{"scenario", {"ramp"}}}),
      row("ramp.steps", kServe, whole, "0", "Steps from the first rate to the last; 0: evenly.", "5",
          {.range = Range{0, 10000}, .needs = Need{"scenario", {"ramp"}}}),
      row("concurrency", kServe, whole, "1", "Requests under way at any time.", "16",
          {.range = Range{1, 1e6}, .needs = Need{"scenario", {"closed", "multi_stream"}}}),
      row("clients", kServe, whole, "",
          "Processes that send the load together, each its share of one schedule: on one machine, or evenly over "
          "`nodes`.",
          "4",
          {.range = Range{1, 1024},
           .needs = Need{"scenario", {"server", "offline", "constant", "burst", "closed", "ramp", "trace"}},
           .otherwise = "one on each node"}),
      row("trace", kServe, text, "", "File with the times and sizes of requests.", "requests.jsonl",
          {.range = Range{1, 4096}, .needs = Need{"scenario", {"trace"}}, .otherwise = "needed by `scenario: trace`"}),
      row("speed_up", kServe, number, "1", "How much faster than recorded a trace is replayed.", "2",
          {.range = Range{0, 1e6, true}, .needs = Need{"scenario", {"trace"}}}),
      row("limits", kServe, latency_limits, "",
          "Latencies that the run must keep, shown with 99 % confidence; without them it is valid at any. `mlperf`, "
          "`mlperf_interactive`: those that MLPerf demands of the model.",
          "{ttft_p99: 2s, tpot_p99: 100ms}", {.range = kTimeSpan, .otherwise = "none, or those of `find_peak`"}),
      row("samples", kServe, whole, "100", "Least number of requests.", "1000", {.range = Range{1, 1e9}}),
      row("min_duration", kServe, duration, "10s", "Least time under load.", "60s", {.range = Range{0, 30 * kDay}}),
      row("warmup", kServe, duration, "0s",
          "Time at the beginning whose requests count for nothing. Not with `scenario: offline` or `mode: accuracy`.",
          "10s", {.range = Range{0, kDay}}),
      row("request_timeout", kServe, duration, "60s", "A request that takes longer counts as failed.", "10s",
          {.range = kTimeSpan}),
      row("max_error_share", kServe, number, "1",
          "A load is ended as failed once so large a share of the requests that ended within 5 s did not end well; 1: "
          "all of them.",
          "0.1", {.range = Range{0, 1, true}}),
      row("token_times", kServe, boolean, "false", "Records when each token came, for the time between tokens.",
          "true"),
      row("mode", kServe, choice, "performance",
          "`accuracy` asks for every sample once and keeps the answers beside the results.", "accuracy",
          {.choices = {"performance", "accuracy"}}),
      row("answer_format", kServe, choice, "any",
          "`json`: counts the answers that are JSON, by themselves or in a block.", "json",
          {.choices = {"any", "json"}, .needs = Need{"mode", {"accuracy"}}}),
      row("randomness", kServe, choice, "assay",
          "Order of samples and arrivals: assay's own by `seed`, or LoadGen's with the seeds of v5.1, drawn at random "
          "or every sample equally often.",
          "loadgen",
          {.choices = {"assay", "loadgen", "loadgen_equal_issue"},
           .needs = Need{"scenario", {"server", "single_stream", "multi_stream", "offline"}}}),
  };
}

std::vector<SpecSetting> node_settings() {
  return {
      row("suite", kNode, suite, "quick", "What is checked: `quick`, `standard`, or a list of specifications.",
          "standard"),
      row("clear", kNode, choice, "refuse", "What to do with a node that is in use.", "drain",
          {.choices = {"refuse", "wait", "drain", "requeue", "kill"}}),
  };
}

std::vector<SpecSetting> command_settings() {
  return {
      row("command", kCommand, command, "", "The program: one text for `sh -c`, or a list of arguments.",
          "python3 train.py", {.required = true}),
      row("folder", kCommand, text, "", "Folder to run it in.", "/srv/train",
          {.range = Range{1, 4096}, .otherwise = "where assay was started"}),
      row("env", kCommand, variables, "{}", "Environment variables, added to the present ones.",
          "{OMP_NUM_THREADS: 4}"),
      row("params", kCommand, parameters, "{}",
          "Parameters of the command. `{name}` in `command` and `env` is replaced.", "{lr: 0.001}"),
      row("metrics", kCommand, patterns, "",
          "Regular expressions (ECMAScript) that find metrics in the output; the group in parentheses is the value.",
          "{loss: 'loss=([0-9.]+)'}", {.otherwise = "built-in patterns that know `loss=0.12` and the like"}),
      row("output_limit", kCommand, bytes, "64MiB", "Output that is kept; more is read and dropped.", "1GiB",
          {.range = Range{4096, 0x1p40}}),
      row("grace", kCommand, duration, "5s", "Time between SIGTERM and SIGKILL when the run is ended.", "30s",
          {.range = Range{0, 3600}}),
  };
}

std::vector<SpecSetting> null_settings() {
  return {
      row("steps", kNull, whole, "100000", "Steps to report.", "1000", {.range = Range{1, 1e9}}),
      row("rate", kNull, rate, "", "Steps reported per second.", "10000/s",
          {.range = Range{0, 1e9, true}, .otherwise = "as fast as possible"}),
      row("metrics_per_step", kNull, whole, "4", "Metrics in each step.", "8", {.range = Range{0, 1000}}),
  };
}

/// Groups that only hold settings need no words of their own in the lists above.
std::vector<SpecSetting> plain_groups() {
  return {
      row("data", kTrain, group, "", "How batches are prepared.", "{workers: 4, prefetch: 4}"),
      row("burst", kServe, group, "", "Shape of `scenario: burst`.", "{size: 50}",
          {.needs = Need{"scenario", {"burst"}}}),
      row("ramp", kServe, group, "", "Shape of `scenario: ramp`.", "{to: 200/s, duration: 5min}",
          {.needs = Need{"scenario", {"ramp"}}}),
      row("requests", kServe, group, "", "What each request asks for.", "{input_tokens: 67, output_tokens: 32}"),
  };
}

}  // namespace

std::span<const SpecSetting> settings_table() {
  static const std::vector<SpecSetting> table = [] {
    std::vector<SpecSetting> all;
    for (auto part :
         {common_settings, plain_groups, model_settings, data_settings, train_settings, target_settings, serve_settings,
          request_settings, device_settings, node_settings, command_settings, null_settings}) {
      for (SpecSetting& setting : part()) all.push_back(std::move(setting));
    }
    return all;
  }();
  return table;
}

}  // namespace assay
