#include "formats/train_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>

#include "formats/scratch_fixture.h"
#include "spec/spec_setting.h"

namespace assay::engine {
namespace {

namespace json = boost::json;
using test::failure_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TrainSpec parsed(std::string_view text) { return parse_train_spec(json::parse(text).as_object()); }
std::string spec_failure(std::string_view text) {
  return failure_of([&] { parsed(text); });
}

TEST(TrainSpec, DefaultsAreThoseOfTheReference) {
  // docs/reference/spec.md, kind train.
  const TrainSpec spec = parsed("{}");
  EXPECT_EQ(spec.name, "");
  EXPECT_EQ(spec.seed, 1U);
  EXPECT_EQ(spec.model.name, "mlp");
  EXPECT_THAT(spec.model.hidden, ElementsAre(64, 32, 16));
  EXPECT_THAT(spec.model.blocks, ElementsAre("fc"));
  EXPECT_EQ(spec.model.layers, std::nullopt);
  EXPECT_EQ(spec.model.width, std::nullopt);
  EXPECT_EQ(spec.model.heads, std::nullopt);
  EXPECT_EQ(spec.model.kv_heads, std::nullopt);
  EXPECT_EQ(spec.model.vocabulary, std::nullopt);
  EXPECT_EQ(spec.model.weights, "");
  EXPECT_EQ(spec.task, Task::classification);
  EXPECT_EQ(spec.dataset.name, "spiral");
  EXPECT_EQ(spec.dataset.samples, std::nullopt);
  EXPECT_EQ(spec.dataset.validation, 0.1);
  EXPECT_EQ(spec.dataset.arms, 2);
  EXPECT_EQ(spec.dataset.noise, 0.1);
  EXPECT_EQ(spec.dataset.tokenizer, "");
  EXPECT_EQ(spec.data_workers, 1);
  EXPECT_EQ(spec.data_prefetch, 2);
  EXPECT_TRUE(spec.tokenize_ahead);
  EXPECT_EQ(spec.epochs, 10);
  EXPECT_EQ(spec.steps, std::nullopt);
  EXPECT_EQ(spec.duration_seconds, std::nullopt);
  EXPECT_EQ(spec.batch_size, 32);
  EXPECT_EQ(spec.gradient_accumulation, 1);
  EXPECT_EQ(spec.seq_length, 512);
  EXPECT_EQ(spec.learning_rate, 1e-3);
  EXPECT_EQ(spec.schedule, Schedule::constant);
  EXPECT_EQ(spec.warmup_steps, 0);
  EXPECT_EQ(spec.gradient_clipping, 0);
  EXPECT_EQ(spec.optimizer, Optimizer::adamw);
  EXPECT_EQ(spec.weight_decay, 0);
  EXPECT_EQ(spec.lora.rank, 16);
  EXPECT_EQ(spec.lora.alpha, 32);
  EXPECT_THAT(spec.lora.targets, ElementsAre("q_proj", "v_proj"));
  EXPECT_FALSE(spec.gradient_checkpointing);
  EXPECT_EQ(spec.dropout, 0);
  EXPECT_EQ(spec.eval_interval, 0);
  EXPECT_EQ(spec.cuda_graphs, Switch::automatic);
  EXPECT_EQ(spec.profile_steps, 0);
  EXPECT_EQ(spec.device, "auto");
  EXPECT_EQ(spec.precision, Precision::fp32);
  EXPECT_EQ(spec.attention, Attention::sdpa);
  EXPECT_EQ(spec.ranks, 1);
  EXPECT_FALSE(spec.is_language());
}

constexpr std::string_view kEveryKey = R"({
  "kind": "train", "name": "n", "seed": 7,
  "model": {"name": "generated", "hidden": [8, 4], "blocks": ["fc", "residual", "lstm", "attention"], "layers": 3,
            "width": 96, "heads": 6, "kv_heads": 2, "vocabulary": 500, "weights": "/w"},
  "task": "lora",
  "dataset": {"name": "text:/a:b.txt", "samples": 99, "validation": 0.25, "arms": 3, "noise": 0.5, "tokenizer": "/t"},
  "data": {"workers": 4, "prefetch": 8, "tokenize": "on_the_fly"},
  "epochs": 2, "steps": 20, "duration": 1.5, "batch_size": 3, "gradient_accumulation": 5, "seq_length": 64,
  "learning_rate": 0.5, "schedule": "cosine", "warmup_steps": 9, "gradient_clipping": 1, "optimizer": "paged_adamw_8bit",
  "weight_decay": 0.01, "lora": {"rank": 4, "alpha": 8, "targets": ["o_proj"]}, "gradient_checkpointing": true,
  "dropout": 0.2, "eval_interval": 11, "cuda_graphs": "on", "profile": 12, "device": "cuda", "precision": "bf16",
  "attention": "flash", "ranks": 13})";

TEST(TrainSpec, ReadsEveryKey) {
  const TrainSpec spec = parsed(kEveryKey);
  EXPECT_EQ(spec.name, "n");
  EXPECT_EQ(spec.seed, 7U);
  EXPECT_EQ(spec.model.name, "generated");
  EXPECT_THAT(spec.model.hidden, ElementsAre(8, 4));
  EXPECT_THAT(spec.model.blocks, ElementsAre("fc", "residual", "lstm", "attention"));
  EXPECT_EQ(spec.model.layers, 3);
  EXPECT_EQ(spec.model.width, 96);
  EXPECT_EQ(spec.model.heads, 6);
  EXPECT_EQ(spec.model.kv_heads, 2);
  EXPECT_EQ(spec.model.vocabulary, 500);
  EXPECT_EQ(spec.model.weights, "/w");
  EXPECT_EQ(spec.task, Task::lora);
  EXPECT_TRUE(spec.is_language());
  EXPECT_EQ(spec.dataset.name, "text:/a:b.txt");
  EXPECT_TRUE(spec.dataset.is_text());
  EXPECT_EQ(spec.dataset.path(), "/a:b.txt");
  EXPECT_EQ(spec.dataset.samples, 99);
  EXPECT_EQ(spec.dataset.validation, 0.25);
  EXPECT_EQ(spec.dataset.arms, 3);
  EXPECT_EQ(spec.dataset.noise, 0.5);
  EXPECT_EQ(spec.dataset.tokenizer, "/t");
  EXPECT_EQ(spec.data_workers, 4);
  EXPECT_EQ(spec.data_prefetch, 8);
  EXPECT_FALSE(spec.tokenize_ahead);
  EXPECT_EQ(spec.epochs, 2);
  EXPECT_EQ(spec.steps, 20);
  EXPECT_EQ(spec.duration_seconds, 1.5);
  EXPECT_EQ(spec.batch_size, 3);
  EXPECT_EQ(spec.gradient_accumulation, 5);
  EXPECT_EQ(spec.seq_length, 64);
  EXPECT_EQ(spec.learning_rate, 0.5);
  EXPECT_EQ(spec.schedule, Schedule::cosine);
  EXPECT_EQ(spec.warmup_steps, 9);
  EXPECT_EQ(spec.gradient_clipping, 1);
  EXPECT_EQ(spec.optimizer, Optimizer::paged_adamw_8bit);
  EXPECT_EQ(spec.weight_decay, 0.01);
  EXPECT_EQ(spec.lora.rank, 4);
  EXPECT_EQ(spec.lora.alpha, 8);
  EXPECT_THAT(spec.lora.targets, ElementsAre("o_proj"));
  EXPECT_TRUE(spec.gradient_checkpointing);
  EXPECT_EQ(spec.dropout, 0.2);
  EXPECT_EQ(spec.eval_interval, 11);
  EXPECT_EQ(spec.cuda_graphs, Switch::on);
  EXPECT_EQ(spec.profile_steps, 12);
  EXPECT_EQ(spec.device, "cuda");
  EXPECT_EQ(spec.precision, Precision::bf16);
  EXPECT_EQ(spec.attention, Attention::flash);
  EXPECT_EQ(spec.ranks, 13);
}

/// Every member of `object` that is not an object itself, by its dotted name.
void collect_keys(const json::object& object, const std::string& prefix, std::vector<std::string>& keys) {
  for (const auto& member : object) {
    const std::string key = prefix + std::string(member.key());
    if (const auto* group = member.value().if_object()) {
      collect_keys(*group, key + ".", keys);
    } else {
      keys.push_back(key);
    }
  }
}

json::value& at(json::object& root, const std::string& key) {
  const std::size_t dot = key.find('.');
  return dot == std::string::npos ? root.at(key) : root.at(key.substr(0, dot)).as_object().at(key.substr(dot + 1));
}

TEST(TrainSpec, EveryWrongTypeIsListedAtOnce) {
  json::object settings = json::parse(kEveryKey).as_object();
  std::vector<std::string> keys;
  collect_keys(settings, "", keys);
  EXPECT_GT(keys.size(), 40U);
  for (const std::string& key : keys) at(settings, key) = {{"no", "such type"}};
  const std::string failure = failure_of([&] { parse_train_spec(settings); });
  EXPECT_THAT(failure, StartsWith("bad_spec: "));
  for (const std::string& key : keys) {
    EXPECT_THAT(failure, HasSubstr(key == "kind" ? "the kind is" : "'" + key + "' is {")) << key;
  }
}

TEST(TrainSpec, NullIsAsGoodAsAbsent) {
  json::object settings = json::parse(kEveryKey).as_object();
  std::vector<std::string> keys;
  collect_keys(settings, "", keys);
  for (const std::string& key : keys) at(settings, key) = nullptr;
  const TrainSpec spec = parse_train_spec(settings);
  EXPECT_EQ(spec.model.name, "mlp");
  EXPECT_EQ(spec.steps, std::nullopt);
  EXPECT_EQ(spec.duration_seconds, std::nullopt);
  EXPECT_EQ(spec.precision, Precision::fp32);
  EXPECT_THAT(spec.lora.targets, ElementsAre("q_proj", "v_proj"));
  EXPECT_EQ(parsed(R"({"model": null, "dataset": null, "data": null, "lora": null})").model.name, "mlp");
}

TEST(TrainSpec, NamesThatDoNotExist) {
  EXPECT_THAT(spec_failure(R"({"model": {"name": "gpt5"}})"), HasSubstr("no model 'gpt5'"));
  EXPECT_THAT(spec_failure(R"({"dataset": {"name": "imagenet"}})"), HasSubstr("no data set 'imagenet'"));
  EXPECT_THAT(spec_failure(R"({"model": {"blocks": ["fc", "conv"]}})"), HasSubstr("no block 'conv'"));
  EXPECT_THAT(spec_failure(R"({"device": "tpu"})"), HasSubstr("'device' is 'tpu', not one of auto, cpu, cuda"));
  EXPECT_THAT(spec_failure(R"({"data": {"tokenize": "later"}})"), HasSubstr("'data.tokenize' is 'later'"));
  EXPECT_THAT(spec_failure(R"({"precision": "fp8"})"),
              HasSubstr("not one of fp32, tf32, bf16, fp16, bf16_all, fp16_all"));
  EXPECT_THAT(spec_failure(R"({"optimizer": "lion"})"), HasSubstr("paged_adamw_8bit"));
  EXPECT_THAT(spec_failure(R"({"attention": "ring"})"), HasSubstr("'attention' is \"ring\""));
  EXPECT_THAT(spec_failure(R"({"schedule": "step"})"), HasSubstr("constant, linear, cosine"));
  EXPECT_THAT(spec_failure(R"({"task": "guess"})"), HasSubstr("masked-lm"));
  EXPECT_THAT(spec_failure(R"({"cuda_graphs": "maybe"})"), HasSubstr("auto, on, off"));
  EXPECT_THAT(spec_failure(R"({"kind": "serve"})"), HasSubstr("the kind is \"serve\""));
}

TEST(TrainSpec, EveryModelAndDataSetOfTheReferenceExists) {
  for (const std::string name :
       {"mlp", "resnet18", "resnet50", "bert-base", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "tinyllama-1.1b",
        "llama-3.2-1b", "llama-3.1-8b", "mistral-7b", "generated"}) {
    EXPECT_EQ(spec_failure(R"({"model": {"name": ")" + name + "\"}}"), "none");
  }
  for (const std::string name :
       {"spiral", "synthetic-images", "synthetic-tokens", "markov-text", "text:x", "cifar10:x"}) {
    EXPECT_EQ(spec_failure(R"({"dataset": {"name": ")" + name + "\"}}"), "none");
  }
}

TEST(TrainSpec, NumbersOutOfRange) {
  for (const std::string key : {"epochs", "steps", "batch_size", "gradient_accumulation", "seq_length", "ranks"}) {
    EXPECT_THAT(spec_failure("{\"" + key + "\": 0}"), HasSubstr("'" + key + "' is 0, not a whole number, at least 1"));
    EXPECT_THAT(spec_failure("{\"" + key + "\": 1.5}"), HasSubstr("'" + key + "'"));
    EXPECT_EQ(spec_failure("{\"" + key + "\": 1}"), "none");
  }
  for (const std::string key : {"seed", "warmup_steps", "eval_interval", "profile"}) {
    EXPECT_THAT(spec_failure("{\"" + key + "\": -1}"), HasSubstr("at least 0"));
    EXPECT_EQ(spec_failure("{\"" + key + "\": 0}"), "none");
  }
  for (const std::string key : {"learning_rate", "weight_decay", "dropout", "gradient_clipping", "duration"}) {
    EXPECT_THAT(spec_failure("{\"" + key + "\": -0.5}"), HasSubstr("'" + key + "'"));
  }
  EXPECT_THAT(spec_failure(R"({"learning_rate": 0})"), HasSubstr("'learning_rate' must be more than 0"));
  EXPECT_THAT(spec_failure(R"({"dropout": 1})"), HasSubstr("'dropout' must be less than 1"));
  EXPECT_THAT(spec_failure(R"({"dataset": {"validation": 1}})"), HasSubstr("'dataset.validation' must be less than 1"));
  EXPECT_THAT(spec_failure(R"({"dataset": {"arms": 1}})"), HasSubstr("at least 2"));
  EXPECT_THAT(spec_failure(R"({"model": {"vocabulary": 1}})"), HasSubstr("at least 2"));
  EXPECT_THAT(spec_failure(R"({"steps": 9223372036854775808})"), HasSubstr("'steps'"));
  EXPECT_THAT(spec_failure(R"({"learning_rate": 1e999})"), HasSubstr("'learning_rate'"));
  EXPECT_THAT(spec_failure(R"({"model": {"hidden": [4, 0]}})"), HasSubstr("'model.hidden' is 0"));
  EXPECT_THAT(spec_failure(R"({"lora": {"targets": ["q", 1]}})"), HasSubstr("a list of texts"));
}

/// One setting with a value, at its place.
json::object with_setting(std::string_view key, json::value value) {
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos) return {{key, std::move(value)}};
  return {{key.substr(0, dot), json::object{{key.substr(dot + 1), std::move(value)}}}};
}

TEST(TrainSpec, KeepsToTheTableOfSettings) {
  json::object every = json::parse(kEveryKey).as_object();
  std::vector<std::string> keys;
  collect_keys(every, "", keys);
  int choices = 0;
  int limits = 0;
  for (const std::string& key : keys) {
    const Setting* row = resolve_key(SpecKind::train, key).setting;
    ASSERT_TRUE(row) << key << " is no setting";
    const auto failure = [&](json::value value) {
      return failure_of([&] { parse_train_spec(with_setting(key, std::move(value))); });
    };
    for (const std::string_view choice : row->rule.choices) {
      if (key == "kind") continue;
      const std::string text = std::string(choice) + (choice.ends_with(':') ? "x" : "");
      EXPECT_EQ(failure(row->type == SettingType::choices ? json::value(json::array{text}) : json::value(text)), "none")
          << key << ": " << text;
      ++choices;
    }
    if (row->type != SettingType::whole && row->type != SettingType::number) continue;
    ASSERT_TRUE(row->rule.range) << key;
    EXPECT_THAT(failure(row->rule.range->most * 1.5 + 1), HasSubstr("'" + key + "'")) << key;
    EXPECT_THAT(failure(row->rule.range->least - 1), HasSubstr("'" + key + "'")) << key;
    ++limits;
  }
  EXPECT_GT(choices, 40);
  EXPECT_GT(limits, 20);
}

TEST(TrainSpec, SeveralMistakesAreListedTogether) {
  EXPECT_THAT(spec_failure(R"({"epochs": 0, "device": "tpu", "model": {"name": "x", "layers": "many"}, "seed": 3})"),
              AllOf(StartsWith("bad_spec"), HasSubstr("'epochs'"), HasSubstr("'device'"), HasSubstr("no model 'x'"),
                    HasSubstr("'model.layers' is \"many\""), Not(HasSubstr("seed"))));
}

TEST(TrainSpec, ReadsAFile) {
  const test::ScratchFolder folder;
  EXPECT_EQ(read_train_spec(folder.write("spec.json", R"({"epochs": 3})")).epochs, 3);
  const auto with = [&](std::string_view content) {
    return failure_of([&] { read_train_spec(folder.write("spec.json", content)); });
  };
  EXPECT_THAT(with("{"), AllOf(StartsWith("bad_spec"), HasSubstr("spec.json"), HasSubstr("not JSON")));
  EXPECT_THAT(with(""), AllOf(StartsWith("bad_spec"), HasSubstr("not JSON")));
  EXPECT_THAT(with("[1]"), AllOf(StartsWith("bad_spec"), HasSubstr("not an object")));
  EXPECT_THAT(with(R"({"epochs": -3})"), StartsWith("bad_spec: 'epochs' is -3"));
  EXPECT_THAT(failure_of([&] { read_train_spec(folder / "none"); }),
              AllOf(StartsWith("missing_file"), HasSubstr("none")));
}

TEST(TrainSpec, NamesOfItsChoices) {
  EXPECT_EQ(name_of(Task::masked_lm), "masked-lm");
  EXPECT_EQ(name_of(Precision::tf32), "tf32");
  EXPECT_EQ(name_of(Attention::cudnn), "cudnn");
  EXPECT_EQ(name_of(Optimizer::adamw_8bit), "adamw_8bit");
}

}  // namespace
}  // namespace assay::engine
