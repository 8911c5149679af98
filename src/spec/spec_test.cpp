#include "spec/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> messages(std::string_view text, const SpecOverrides& overrides = {}) {
  std::vector<std::string> texts;
  for (const Diagnostic& diagnostic : read_spec(text, "b.yaml", overrides).diagnostics)
    texts.push_back(diagnostic.text());
  return texts;
}

json::object settings(std::string_view text, const SpecOverrides& overrides = {}) {
  const SpecReading reading = read_spec(text, "b.yaml", overrides);
  EXPECT_THAT(messages(text, overrides), IsEmpty());
  return reading.spec ? reading.spec->settings : json::object();
}

json::value at(const json::object& settings, std::string_view key) {
  const json::value* value = find_setting(settings, key);
  return value ? *value : json::value("(absent)");
}

TEST(Spec, FillsInDefaultsInCanonicalForm) {
  const json::object train = settings("kind: train\ntime_limit: 30min\nprice: 0.60 USD/GPUh\n");
  EXPECT_EQ(at(train, "kind"), "train");
  EXPECT_EQ(at(train, "name"), "b");
  EXPECT_EQ(at(train, "time_limit"), 1800.0);
  EXPECT_EQ(at(train, "price"), (json::object{{"amount", 0.6}, {"currency", "USD"}, {"per", "GPUh"}}));
  EXPECT_EQ(at(train, "model"), (json::object{{"name", "mlp"}, {"hidden", {64, 32, 16}}}));
  EXPECT_EQ(at(train, "task"), "classification");
  EXPECT_EQ(at(train, "dataset.name"), "spiral");
  EXPECT_EQ(at(train, "epochs"), 10);
  EXPECT_EQ(at(train, "steps"), "(absent)");
  EXPECT_EQ(at(train, "lora"), "(absent)") << "only part of a LoRA run";
}

TEST(Spec, DefaultsFollowTheOtherSettings) {
  const json::object lora = settings("kind: train\nmodel: gpt2\ntask: lora\nlora: {rank: 4}\nsteps: 5\n");
  EXPECT_EQ(at(lora, "dataset.name"), "synthetic-tokens");
  EXPECT_EQ(at(lora, "lora.rank"), 4);
  EXPECT_EQ(at(lora, "lora.alpha"), 32.0);
  EXPECT_EQ(at(lora, "epochs"), "(absent)") << "steps decide";
  EXPECT_EQ(at(lora, "model.hidden"), "(absent)");
  EXPECT_EQ(at(settings("kind: train\nmodel: bert-base\n"), "task"), "masked-lm");
  EXPECT_EQ(at(settings("kind: serve\ntarget: {openai: \"http://h/v1\"}\n"), "target.name"), "openai");
}

TEST(Spec, AFreeMapMayStandInAGroup) {
  const auto given = settings("kind: serve\ntarget: {openai: \"http://h/v1\", extra_body: {top_p: 0.9, seed: 5}}\n");
  EXPECT_EQ(at(given, "target.extra_body.top_p"), 0.9);
  EXPECT_EQ(at(given, "target.extra_body.seed"), 5);
  EXPECT_EQ(at(settings("kind: serve\ntarget.openai: http://h/v1\ntarget.extra_body.top_p: 0.5\n"),
               "target.extra_body.top_p"),
            0.5);
}

TEST(Spec, TextStaysAsWritten) {
  EXPECT_EQ(at(settings("kind: command\ncommand: 'true'\nname: no\n"), "name"), "no");
  EXPECT_EQ(at(settings("kind: command\ncommand: 'true'\nname: null\n"), "name"), "null");
  EXPECT_EQ(at(settings("kind: command\ncommand: 'true'\nname: 0x10\n"), "name"), "0x10");
  EXPECT_EQ(at(settings("kind: command\ncommand: 'true'\nfolder: ~\n"), "folder"), "~");
  EXPECT_EQ(at(settings("kind: command\ncommand: 'true'\ntags: [on, 1.10, a=b]\n"), "tags"),
            (json::array{"on", "1.10", "a=b"}));
  EXPECT_EQ(at(settings("kind: command\ncommand: 'true'\nenv: {A: 010, B: yes}\n"), "env"),
            (json::object{{"A", "010"}, {"B", "yes"}}));
}

TEST(Spec, KindNullIsAKindAndNotNothing) {
  EXPECT_EQ(at(settings("kind: null\n"), "kind"), "null");
  EXPECT_EQ(at(settings("kind: 'null'\n"), "steps"), 100000);
  EXPECT_EQ(at(settings("{\"kind\": null}"), "metrics_per_step"), 4);
}

TEST(Spec, ParametersAreTypedOnlyIfTheyReadBackAsWritten) {
  const json::object command =
      settings("kind: command\ncommand: 'x'\nparams: {a: 16, b: 0.5, c: 1.10, d: 1e-3, e: true, f: '7'}\n");
  EXPECT_EQ(at(command, "params"),
            (json::object{{"a", 16}, {"b", 0.5}, {"c", "1.10"}, {"d", "1e-3"}, {"e", true}, {"f", "7"}}));
}

TEST(Spec, ShorthandsAndDottedKeysMeanTheSame) {
  const auto nested = settings("kind: train\nmodel: {name: gpt2}\ndata: {workers: 3}\n");
  EXPECT_EQ(settings("kind: train\nmodel: gpt2\ndata.workers: 3\n"), nested);
  EXPECT_EQ(settings("kind: train\nmodel.name: gpt2\ndata.workers: 3\n"), nested);
}

TEST(Spec, ExpectTakesMetricsAndFriendlyNames) {
  const auto expect =
      at(settings("kind: train\nexpect: {gpu_memory: 20GB, loss: 0.5, gpu.util: 0.9, step_time: 10ms, mine: 3}\n"),
         "expect");
  EXPECT_EQ(expect, (json::object{{"gpu_memory_peak_bytes", 20'000'000'000},
                                  {"loss", 0.5},
                                  {"gpu.util", 0.9},
                                  {"step_seconds", 0.01},
                                  {"mine", 3.0}}));
}

TEST(Spec, SixMistakesGiveSixMessages) {
  EXPECT_THAT(
      messages("kind: train\n"
               "modle: gpt2\n"
               "batch_size: 0\n"
               "precision: bf61\n"
               "time_limit: 10\n"
               "lora: 5\n"
               "gradient_checkpointing: yes\n"),
      ElementsAre(
          "b.yaml:2:1: unknown key 'modle'. Did you mean 'model'?", "b.yaml:3:13: 'batch_size: 0' must be at least 1.",
          "b.yaml:4:12: 'precision: bf61' is not one of fp32, tf32, bf16, fp16, bf16_all, fp16_all. Did you mean "
          "'bf16'?",
          "b.yaml:5:13: 'time_limit: 10' has no unit. Write '10s' or '10ms'.",
          "b.yaml:6:7: 'lora: 5' must be a mapping. Write for example 'lora: {rank: 16, alpha: 32}'.",
          "b.yaml:7:25: 'gradient_checkpointing: yes' must be true or false. Write 'true'."));
}

TEST(Spec, AWrongKindDoesNotMakeTheRestWrong) {
  EXPECT_THAT(
      messages("kind: trian\nmodel: mlp\nepochs: 5\nlora: {rank: 8}\nsteps: 10\nrate: 5/s\ncommand: x\n"),
      ElementsAre("b.yaml:1:7: 'kind: trian' is not one of train, serve, node, command, null. Did you mean 'train'?"));
  EXPECT_THAT(messages("knd: train\nepochs: 5\n"), ElementsAre("b.yaml:1:1: unknown key 'knd'. Did you mean 'kind'?"));
  EXPECT_THAT(
      messages("epochs: 5\nfoo: 1\n"),
      ElementsAre("b.yaml:1:1: 'kind' is missing. Add 'kind: train' (or serve, node, command, null) to say what is "
                  "measured.",
                  "b.yaml:2:1: unknown key 'foo'. docs/reference/spec.md lists all keys."));
}

TEST(Spec, StopsListingAfterAHundredMistakes) {
  std::string text = "kind: train\n";
  for (int i = 0; i < 5000; ++i) text += "wrong_key_" + std::to_string(i) + ": 1\n";
  const auto found = messages(text);
  ASSERT_EQ(found.size(), 101U);
  EXPECT_THAT(found.back(), testing::HasSubstr("more mistakes follow"));
}

struct Mistake {
  std::string text;
  std::string message;  ///< the one message, without the file's name
};
void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.text; }

class SingleMistake : public testing::TestWithParam<Mistake> {};

TEST_P(SingleMistake, GivesExactlyOneMessage) {
  EXPECT_THAT(messages(GetParam().text), ElementsAre("b.yaml:" + GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Keys, SingleMistake,
    testing::Values(
        Mistake{"kind: serve\ntarget_qsp: 5", "2:1: unknown key 'target_qsp'. docs/reference/spec.md lists all keys."},
        Mistake{"kind: serve\nlora: {rank: 8}", "2:1: 'lora' is a setting of kind train, not of kind serve."},
        Mistake{"kind: serve\nlora.rank: 8", "2:1: 'lora.rank' is a setting of kind train, not of kind serve."},
        Mistake{"kind: serve\nscale: [1]",
                "2:1: 'scale' is a setting of kinds train, command and null, not of kind serve."},
        Mistake{"kind: train\ntask: lora\nlora: {rnk: 8}", "3:8: unknown key 'rnk' in 'lora'. Did you mean 'rank'?"},
        Mistake{"kind: train\nrank: 8", "2:1: unknown key 'rank'. Did you mean 'lora.rank'?"},
        Mistake{"kind: train\nlora.rnk: 8", "2:1: unknown key 'lora.rnk'. Did you mean 'lora.rank'?"},
        Mistake{"kind: command\ncomand: x", "2:1: unknown key 'comand'. Did you mean 'command'?"},
        Mistake{"kind: command", "1:1: kind command needs 'command'. Add for example 'command: python3 train.py'."},
        Mistake{"kind: train\nepochs: 1\nepochs: 2",
                "3:1: key 'epochs' is given twice, first in line 2. Remove one of them."},
        Mistake{"kind: train\ntask: lora\nlora: {rank: 8}\nlora.rank: 9",
                "4:1: 'lora.rank' is given twice. Remove one of them."},
        Mistake{"kind: train\nmodel: gpt2\nmodel.layers: 9",
                "3:1: 'model' and 'model.layers' are given side by side. Put both into one mapping."},
        Mistake{"kind: train\n<<: {epochs: 1}", "2:1: unknown key '<<'. docs/reference/spec.md lists all keys."}));

INSTANTIATE_TEST_SUITE_P(
    Values, SingleMistake,
    testing::Values(
        Mistake{"kind: train\nepochs: ten", "2:9: 'epochs: ten' must be a whole number, for example 'epochs: 50'."},
        Mistake{"kind: train\nepochs: 1.5", "2:9: 'epochs: 1.5' must be a whole number."},
        Mistake{"kind: train\nepochs: '5'", "2:9: 'epochs: \"5\"' is text. Write it without quotes: 'epochs: 5'."},
        Mistake{"kind: train\nepochs: 1_000",
                "2:9: 'epochs: 1_000' must be a whole number. Write it without separators: '1000'."},
        Mistake{"kind: train\nepochs:\nsteps: 5",
                "2:1: 'epochs' has no value. Write for example 'epochs: 50', or remove the line."},
        Mistake{"kind: train\nepochs: ~", "2:9: 'epochs: ~' must be a whole number, for example 'epochs: 50'."},
        Mistake{"kind: train\nepochs: [1, 2]",
                "2:9: 'epochs' must be a whole number, not a list. To try several values use 'sweep: {epochs: […]}'."},
        Mistake{"kind: train\nepochs: {a: 1}",
                "2:9: 'epochs' must be a whole number, not a mapping. Write for example 'epochs: 50'."},
        Mistake{"kind: train\nepochs: .inf", "2:9: 'epochs: .inf' must be a whole number, for example 'epochs: 50'."},
        Mistake{"kind: train\nepochs: nan", "2:9: 'epochs: nan' must be a whole number, for example 'epochs: 50'."},
        Mistake{"kind: train\nlearning_rate: 1e999",
                "2:16: 'learning_rate: 1e999' must be a number, for example 'learning_rate: 2e-4'."},
        Mistake{"kind: train\nlearning_rate: 0", "2:16: 'learning_rate: 0' must be more than 0."},
        Mistake{"kind: train\ndropout: 1", "2:10: 'dropout: 1' must be less than 1."},
        Mistake{"kind: train\nranks: 100000", "2:8: 'ranks: 100000' must be at most 65536."},
        Mistake{"kind: train\ngradient_checkpointing: 'true'",
                "2:25: 'gradient_checkpointing: \"true\"' must be true or false. Write 'true'."},
        Mistake{"kind: train\ngradient_checkpointing: off",
                "2:25: 'gradient_checkpointing: off' must be true or false. Write 'false'."},
        Mistake{"kind: train\ngradient_checkpointing: maybe",
                "2:25: 'gradient_checkpointing: maybe' must be true or false."},
        Mistake{"kind: train\ndevice: gpu", "2:9: 'device: gpu' is not one of auto, cpu, cuda."},
        Mistake{"kind: train\ndataset: text", "2:10: 'dataset: text' needs a path: write 'dataset: text:PATH'."},
        Mistake{"kind: train\ndataset: {name: 'cifar10:'}",
                "2:17: 'name: cifar10:' needs a path: write 'name: cifar10:PATH'."},
        Mistake{"kind: train\ndataset: spirals",
                "2:10: 'dataset: spirals' is not one of spiral, synthetic-images, synthetic-tokens, markov-text, "
                "text:PATH, "
                "cifar10:PATH. Did you mean 'spiral'?"},
        Mistake{
            "kind: train\nmodel: [mlp]",
            "2:8: 'model' must be a name or a mapping, not a list. To try several values use 'sweep: {model: […]}'."},
        Mistake{"kind: train\nmodel: {hidden: [64, 0]}", "2:22: 'hidden: 0' must be at least 1."},
        Mistake{"kind: train\nmodel: {hidden: [64, [1]]}", "2:22: each item of 'hidden' must be a whole number."},
        Mistake{"kind: train\nmodel: {hidden: []}",
                "2:17: 'hidden' is an empty list. Write for example 'hidden: [64, 32, 16]'."},
        Mistake{"kind: train\nname: '@last'",
                "2:7: 'name: @last' must not start with '@' or 'tag:', which name other runs on the command line."},
        Mistake{"kind: train\nname: ''", "2:7: 'name: \"\"' must not be empty."},
        Mistake{"kind: train\ntags: [a b]",
                "2:8: 'tags: a b' must be a bare word or key=value, without spaces and commas."},
        Mistake{"kind: train\nnodes: 2",
                "2:8: 'nodes: 2' is a number, but nodes are given by name. For several nodes of any name write 'scale: "
                "[{ranks: 8, nodes: 2}]'."},
        Mistake{"kind: train\nnodes: [a, b, a]", "2:15: the node 'a' is in the list twice. Remove one of them."},
        Mistake{"kind: train\nprice: 5", "2:8: 'price: 5' has no unit. Write '5 USD/GPUh' or '5 USD/h'."},
        Mistake{"kind: command\ncommand: ''",
                "2:10: 'command' names no program. Write for example 'command: python3 train.py'."},
        Mistake{"kind: command\ncommand: []",
                "2:10: 'command' names no program. Write for example 'command: python3 train.py'."},
        Mistake{"kind: command\ncommand: x\nfolder: [a]",
                "3:9: 'folder' must be text, not a list. To try several values use 'sweep: {folder: […]}'."},
        Mistake{"kind: command\ncommand: x\noutput_limit: 1kB", "3:15: 'output_limit: 1kB' must be at least 4KiB."},
        Mistake{"kind: command\ncommand: x\ngrace: 2h", "3:8: 'grace: 2h' must be at most 1h."},
        Mistake{"kind: command\ncommand: x\nenv: {1A: x}",
                "3:7: '1A' is not a name for an environment variable: letters, digits and '_'."},
        Mistake{"kind: command\ncommand: x\nparams: {a: [1]}",
                "3:13: 'params.a' must be text, a number, true or false."},
        Mistake{"kind: command\ncommand: x\nmetrics: {loss: 'loss=[0-9'}",
                "3:17: 'metrics.loss: loss=[0-9' is not a valid regular expression (ECMAScript)."},
        Mistake{"kind: command\ncommand: x\nmetrics: {loss: 'loss=[0-9]+'}",
                "3:17: 'metrics.loss: loss=[0-9]+' has 0 groups; it needs exactly one pair of parentheses around the "
                "value, "
                "as in 'loss=([0-9.]+)'. Write '(?:…)' for others."},
        Mistake{"kind: train\nexpect: {sample_per_second: 5}",
                "2:10: unknown metric 'sample_per_second' in 'expect'. Did you mean 'samples_per_second'?"},
        Mistake{"kind: train\nexpect: {gpu_memory: 20}",
                "2:22: 'expect.gpu_memory: 20' has no unit. Write '20GB' or '20GiB'."},
        Mistake{
            "kind: serve\nfind_peak: {tfft_p99: 2s}",
            "2:13: 'tfft_p99' is not a latency. Write ttft, tpot or e2e, followed by _p50, _p90, _p95, _p97, _p99 or "
            "_p99.9."},
        Mistake{"kind: serve\ntarget: 'null'\nscenario: offline\nwarmup: 2s",
                "4:9: 'warmup' is not possible with 'scenario: offline': all requests are due at once, and none after "
                "it. Remove it."},
        Mistake{"kind: serve\nmode: accuracy\nwarmup: 2s",
                "3:9: 'warmup' is not possible with 'mode: accuracy', in which every sample counts. Remove one of "
                "them."},
        Mistake{"kind: serve\nmode: accuracy\nfind_peak: {ttft_p99: 2s}",
                "2:7: 'find_peak' is not possible with 'mode: accuracy', which asks for every sample once. Remove one "
                "of them."},
        Mistake{"kind: serve\ntarget: {openai: 'http://h/v1', stream: false}\nlimits: {ttft_p99: 2s}",
                "3:20: 'limits: {ttft_p99: …}' is not possible with 'target.stream: false': a first token is seen in "
                "streams alone. Remove one of them."},
        Mistake{"kind: serve\ntime_limit: 30s\nscenario: ramp\nramp: {to: 20/s, duration: 1min}",
                "4:28: 'ramp.duration: 1min' is longer than 'time_limit: 30s'. Raise the limit or shorten "
                "'ramp.duration'."},
        Mistake{"kind: serve\ntarget: {openai: 'http://h/v1', retries: 3}",
                "2:42: 'target.retries: 3' is not possible with 'scenario: server': MLPerf's scenarios send each "
                "request once. Remove it, or choose constant, burst, closed, ramp or trace."},
        Mistake{"kind: serve\ntarget: 'null'\nlimits: mlpref",
                "3:9: 'limits: mlpref' is not one of mlperf, mlperf_interactive, or a mapping such as '{ttft_p99: 2s, "
                "tpot_p99: 100ms}'. Did you mean 'mlperf'?"},
        Mistake{"kind: serve\ntarget: 'null'\nmodel: llama3.1-8\nlimits: mlperf",
                "4:9: 'limits: mlperf' has no limits for 'model: llama3.1-8'. Did you mean 'llama3.1-8b'? It has some "
                "for llama3.1-8b, llama2-70b, llama3.1-405b, mixtral-8x7b, deepseek-r1, gpt-oss-120b; for others write "
                "them, as in 'limits: {ttft_p99: 2s, tpot_p99: 100ms}'."},
        Mistake{"kind: serve\nrate: 5", "2:7: 'rate: 5' has no unit. Write '5/s' or '5/min'."},
        Mistake{"kind: serve\ntarget: {openai: 'host:8000'}",
                "2:18: 'openai: host:8000' must start with http:// or https://."},
        Mistake{"kind: node\nsuite: fast",
                "2:8: 'suite: fast' is not one of quick, standard, or a list of specifications."},
        Mistake{"kind: node\nsuite: [{kind: null, steps: 0}]", "2:29: 'steps: 0' must be at least 1."},
        Mistake{"kind: node\nsuite: [{kind: node}]",
                "2:10: a suite cannot hold another suite. Use kind train, serve, command or null here."},
        Mistake{"kind: node\nsuite: [{kind: null, repeat: 2}]",
                "2:22: 'repeat' is not possible inside a suite: each of its specifications is one run."}));

INSTANTIATE_TEST_SUITE_P(
    Studies, SingleMistake,
    testing::Values(
        Mistake{"kind: train\nmatrix: {name: a}",
                "2:9: 'matrix' must be a list of variants, not a mapping. Write for example 'matrix: [{name: shorter, "
                "seq_length: 512}]'."},
        Mistake{
            "kind: train\nmatrix: []",
            "2:9: 'matrix' is empty. Write for example 'matrix: [{name: shorter, seq_length: 512}]', or remove it."},
        Mistake{"kind: train\nmatrix:\n  - {name: a, batch_size: 1}\n  - {name: a, batch_size: 2}",
                "4:12: two variants are called 'a', the first in line 3. Give each its own name."},
        Mistake{"kind: train\nmatrix: [{name: baseline, batch_size: 1}]",
                "2:17: a variant cannot be called 'baseline': that is the name of the settings above."},
        Mistake{"kind: train\nmatrix:\n  - {name: a, batch_size: 0}", "3:27: 'batch_size: 0' must be at least 1."},
        Mistake{"kind: train\nmatrix:\n  - {name: a, lora.rnk: 0}",
                "3:15: unknown key 'lora.rnk'. Did you mean 'lora.rank'?"},
        Mistake{"kind: train\nmatrix: [{repeat: 3}]",
                "2:11: 'repeat' holds for the whole study and cannot differ between its runs."},
        Mistake{"kind: train\nmatrix: [5]",
                "2:10: each variant of 'matrix' is a mapping of its changes, for example '{name: shorter, seq_length: "
                "512}'."},
        Mistake{"kind: train\nsweep: {batch_size: 16}",
                "2:21: 'batch_size' in 'sweep' must be a list of values: write 'batch_size: [16]'."},
        Mistake{"kind: train\nsweep:\n  batch_size: [16, x]",
                "3:20: 'batch_size: x' must be a whole number, for example 'batch_size: 64'."},
        Mistake{"kind: train\nsweep: {batch_size: [16, 16]}", "2:26: '16' is in the list twice. Remove one of them."},
        Mistake{"kind: train\nsweep: {repeat: [1, 2]}", "2:9: 'repeat' holds for the whole study and cannot be swept."},
        Mistake{"kind: command\ncommand: x {lr}\nparams: {lr: 1}\nsweep: {lr: [1, 2]}",
                "4:9: unknown key 'lr'. Did you mean 'params.lr'?"},
        Mistake{"kind: train\nsweep: {batch_size: [1, 2]}\nmatrix: [{name: big, batch_size: 9}]",
                "2:9: 'batch_size' is swept and also changed by the variant 'big' of the matrix. Remove one of them."},
        Mistake{"kind: train\nscale: 4",
                "2:8: 'scale: 4' must be a list of sizes. Write for example 'scale: [1, 4, {ranks: 8, nodes: 2}]'."},
        Mistake{"kind: train\nscale: [4, 0]", "2:12: 'scale: 0' must be at least 1."},
        Mistake{"kind: train\nscale: [4, {ranks: 4, nodes: 1}]",
                "2:12: the size {ranks: 4, nodes: 1} is in the list twice. "
                "Remove one of them."},
        Mistake{"kind: train\nscale: [{ranks: 2, nodes: 4}]",
                "2:9: 4 nodes cannot share 2 ranks. Give at least one rank per node."},
        Mistake{"kind: train\nscale: [{ranks: 2, node: 2}]",
                "2:20: unknown key 'node' in 'scale'. Did you mean 'nodes'?"},
        Mistake{"kind: train\nranks: 2\nscale: [1, 2]",
                "2:1: 'ranks' and 'scale' exclude each other: 'scale' sets the ranks. Remove one of them."},
        Mistake{"kind: train\nnodes: [a]\nscale: [{ranks: 4, nodes: 2}]",
                "3:9: this size needs 2 nodes, but 'nodes' names 1."},
        Mistake{"kind: train\nnodes: [a, b]\neach_node: true\nscale: [{ranks: 4, nodes: 2}]",
                "4:9: 'each_node: true' runs on one node at a time, so 'nodes' must be 1 here."},
        Mistake{
            "kind: train\nbatch_size: 30\nscale: [1, 4]\nscaling: strong",
            "2:13: 'scaling: strong' divides 'batch_size: 30' among 4 ranks, which does not come out even. Choose a "
            "multiple of every size."},
        Mistake{"kind: train\ngoals: {f1_score: up}",
                "2:19: 'goals.f1_score: up' must be 'higher' or 'lower': which way is better."},
        Mistake{"kind: train\nseeds: all", "2:8: 'seeds: all' is not one of per_repeat, same."},
        Mistake{"kind: train\nrepeat: 10000\nsweep: {batch_size: [1, 2]}",
                "3:1: the study asks for more than 10000 runs. Shorten 'sweep', 'matrix', 'scale' or 'repeat'."}));

INSTANTIATE_TEST_SUITE_P(
    BetweenSettings, SingleMistake,
    testing::Values(
        Mistake{"kind: train\nepochs: 5\nsteps: 10",
                "3:1: 'epochs' and 'steps' exclude each other. Remove one of them."},
        Mistake{"kind: serve\nrate: 5/s\nfind_peak: {ttft_p99: 2s, tpot_p99: 1s}",
                "3:13: 'rate' and 'find_peak' exclude each other. Remove one of them."},
        Mistake{"kind: train\nlora: {rank: 8, alpha: 16}",
                "2:8: 'lora.rank' needs 'task: lora', but 'task' is 'classification' by default."},
        Mistake{"kind: train\nmodel: {name: gpt2, hidden: [64]}",
                "2:21: 'model.hidden' needs 'model.name: mlp', but 'model.name' is 'gpt2'."},
        Mistake{"kind: serve\nscenario: offline\nrate: 5/s",
                "3:1: 'rate' needs 'scenario: server, constant, burst or ramp', but 'scenario' is 'offline'."},
        Mistake{"kind: train\nmodel: {name: gpt2, width: 64, heads: 6}",
                "2:39: 'model.heads: 6' must divide 'model.width: 64'."},
        Mistake{"kind: train\nmodel: {name: gpt2, width: 64, heads: 4}\nsweep: {model.width: [64, 66]}",
                "3:27: 'model.heads: 4' must divide 'model.width: 66'. (In the variant 'model.width=66'.)"},
        Mistake{"kind: train\nduration: 2min\ntime_limit: 60s",
                "2:11: 'duration: 2min' is longer than 'time_limit: 1min'. Raise the limit or shorten 'duration'."},
        Mistake{"kind: train\neach_node: true",
                "2:12: 'each_node: true' needs to know the nodes. Add for example 'nodes: [gpu01, gpu02]'."},
        Mistake{"kind: serve\nscenario: trace", "2:11: 'scenario: trace' needs a file. Add 'trace: FILE'."},
        Mistake{"kind: serve\nmodel: llama-3.1-8",
                "2:8: 'model: llama-3.1-8' is not a model of the engine. Did you mean "
                "'llama-3.1-8b'?"},
        Mistake{"kind: serve\ntarget: openai",
                "2:9: the target needs an address: write 'target: {openai: \"http://host:8000/v1\"}'."},
        Mistake{"kind: serve\ntarget: {name: engine, openai: \"http://h/v1\"}",
                "2:32: 'target' is both 'engine' and a server. Remove one of them."},
        Mistake{"kind: serve\ntarget: {openai: \"http://h/v1\", weights: [1, 2]}",
                "2:42: 'target.weights' must have one number for each server, that of 'openai' first: 1 in all."},
        Mistake{"kind: serve\ntarget: {openai: \"http://h/v1\", endpoints: [h2]}",
                "2:44: 'h2' is no address. Write for example 'http://gpu02:8000/v1'."},
        Mistake{"kind: serve\ntarget: {openai: \"http://h/v1\", headers: [X-Tenant]}",
                "2:42: 'X-Tenant' is no header field. Write for example 'X-Tenant: bench'."},
        Mistake{"kind: serve\ntarget: {openai: \"http://h/v1\", token_env: A, token_file: b}",
                "2:59: 'token_env' and 'token_file' both name a token. Remove one of them."},
        Mistake{"kind: serve\nrequests: {input_tokens: 50, input_max: 20}",
                "2:41: 'requests.input_tokens: 50' is above 'requests.input_max: 20'. The mean must lie between the "
                "bounds."},
        Mistake{"kind: serve\ntarget: {api: completions}",
                "2:10: 'target.api' needs 'target.name: openai', but 'target.name' is 'engine' by default."},
        Mistake{"kind: command\ncommand: x {lrr}\nparams: {lr: 1}",
                "2:10: '{lrr}' names no parameter. Did you mean 'lr'? Add 'lrr' to 'params', or write '{{lrr}}' for "
                "the text "
                "'{lrr}'."}));

TEST(Spec, ValuesFromOneSettingDoNotSpoilAnother) {
  EXPECT_THAT(messages("kind: train\ntask: lra\nlora: {rank: 8}\n"), testing::SizeIs(1));
  EXPECT_THAT(messages("kind: train\nmodel: {name: gpt2, width: x, heads: 7}\n"), testing::SizeIs(1));
  EXPECT_THAT(messages("kind: train\nscale: [x]\nranks: 2\n"), testing::SizeIs(1));
  EXPECT_THAT(messages("kind: command\ncommand: '{lr}'\nparams: 5\n"), testing::SizeIs(1));
  EXPECT_THAT(messages("kind: serve\nscenario: ofline\nconcurrency: 5\n"), testing::SizeIs(1));
}

TEST(Spec, HostileValuesAreCutAndCleanInMessages) {
  const std::string found = messages("kind: train\ndevice: \"" + std::string(1000, 'x') + "\"\n").at(0);
  EXPECT_LT(found.size(), 200U);
  EXPECT_THAT(messages("kind: train\ndevice: \"a\\e[2Jb\"\n").at(0), testing::Not(testing::HasSubstr("\x1b")));
}

TEST(SpecFile, ReadsFilesAndReportsThoseItCannotRead) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomically(folder.path() / "nightly.yaml", "kind: null\nsteps: 0\n").ok());
  const auto reading = read_spec_file(folder.path() / "nightly.yaml");
  ASSERT_TRUE(reading.ok());
  ASSERT_EQ(reading->diagnostics.size(), 1U);
  EXPECT_EQ(reading->diagnostics[0].file, (folder.path() / "nightly.yaml").string());

  const auto missing = read_spec_file(folder.path() / "absent.yaml");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::missing_file);
}

TEST(SpecDocument, NeedsAMapping) {
  const auto message = [](std::string_view text) { return read_spec(text, "b.yaml").diagnostics.at(0).text(); };
  EXPECT_EQ(message(""), "b.yaml:1:1: the file is empty. A specification is a mapping, such as 'kind: train'.");
  EXPECT_EQ(message("# only a comment\n"),
            "b.yaml:1:1: the file is empty. A specification is a mapping, such as 'kind: train'.");
  EXPECT_EQ(message("- kind: train\n"),
            "b.yaml:1:1: this is a list. A specification is a mapping, such as 'kind: train'.");
  EXPECT_EQ(message("kind:train\n"),
            "b.yaml:1:1: this is plain text. A specification is a mapping, such as 'kind: train'.");
}

}  // namespace
}  // namespace assay
