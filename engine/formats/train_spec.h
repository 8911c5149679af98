#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay::engine {

// Defaults and limits are those of the table of settings (src/spec/settings_table.cpp), which `assay` reads, too:
// members that have a default there have none here, and `parse_train_spec({})` gives them all.

/// The `model` of a specification; what is absent is that of the named model.
struct ModelSpec {
  std::string name;
  std::vector<std::int64_t> hidden;
  std::vector<std::string> blocks;
  std::optional<std::int64_t> layers;
  std::optional<std::int64_t> width;
  std::optional<std::int64_t> heads;
  std::optional<std::int64_t> kv_heads;
  std::optional<std::int64_t> vocabulary;
  std::string weights;  ///< file or folder; empty: random
};

struct DatasetSpec {
  std::string name = "spiral";  ///< with the path for `text:` and `cifar10:`; what `assay` picks for the default model
  std::optional<std::int64_t> samples;
  double validation = 0;
  std::int64_t arms = 0;
  double noise = 0;
  std::string tokenizer;  ///< file; empty: one token per byte

  bool is_text() const { return name.starts_with("text:"); }
  bool is_cifar10() const { return name.starts_with("cifar10:"); }
  std::string path() const { return name.substr(name.find(':') + 1); }
};

/// Tokens of a text that is read byte by byte.
constexpr std::int64_t kByteVocabulary = 256;

struct LoraSpec {
  std::int64_t rank = 0;
  double alpha = 0;
  std::vector<std::string> targets;
};

enum class Task { classification, pretrain, masked_lm, finetune, lora };
/// bf16, fp16: products in that format, everything autocast keeps in fp32 in fp32. bf16_all, fp16_all: the residual
/// stream and all gradients in that format, too.
enum class Precision { fp32, tf32, bf16, fp16, bf16_all, fp16_all };
enum class Attention { eager, math, flash, efficient, cudnn, sdpa };
enum class Optimizer { sgd, adam, adamw, adamw_8bit, paged_adamw_8bit };
enum class Schedule { constant, linear, cosine };
enum class Switch { automatic, on, off };

/// One training run, as `assay` hands it over: the settings of docs/reference/spec.md, defaults filled in.
struct TrainSpec {
  std::string name;
  std::uint64_t seed = 0;
  ModelSpec model;
  Task task = Task::classification;  ///< what `assay` picks for the default model
  DatasetSpec dataset;
  std::int64_t data_workers = 0;
  std::int64_t data_prefetch = 0;
  bool tokenize_ahead = false;
  std::int64_t epochs = 0;  ///< decides where neither steps nor duration_seconds is given
  std::optional<std::int64_t> steps;
  std::optional<double> duration_seconds;
  std::int64_t batch_size = 0;  ///< per rank
  std::int64_t gradient_accumulation = 0;
  std::int64_t seq_length = 0;
  double learning_rate = 0;
  Schedule schedule = Schedule::constant;
  std::int64_t warmup_steps = 0;
  double gradient_clipping = 0;  ///< largest gradient norm; 0: not limited
  Optimizer optimizer = Optimizer::sgd;
  double weight_decay = 0;
  LoraSpec lora;
  bool gradient_checkpointing = false;
  double dropout = 0;
  std::int64_t eval_interval = 0;  ///< steps; 0: after each epoch and at the end
  Switch cuda_graphs = Switch::automatic;
  std::int64_t profile_steps = 0;
  std::string device;
  Precision precision = Precision::fp32;
  Attention attention = Attention::eager;
  std::int64_t ranks = 0;

  bool is_language() const { return task != Task::classification; }
  /// fp16 has few exponents: small gradients would vanish without a factor.
  bool scales_loss() const { return precision == Precision::fp16 || precision == Precision::fp16_all; }
};

std::string_view name_of(Task);
std::string_view name_of(Precision);
std::string_view name_of(Attention);
std::string_view name_of(Optimizer);

/// Reads the settings, checks each value. `assay` has validated them, but the engine is started by hand as well.
/// Throws Failure `bad_spec` that lists every mistake.
TrainSpec parse_train_spec(const boost::json::object& settings);

/// Throws Failure `missing_file` or `bad_spec`.
TrainSpec read_train_spec(const std::string& path);

}  // namespace assay::engine
