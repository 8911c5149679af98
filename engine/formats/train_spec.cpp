#include "formats/train_spec.h"

#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "formats/failure.h"

namespace assay::engine {
namespace {

namespace json = boost::json;

constexpr std::array kTasks = {
    std::pair{std::string_view("classification"), Task::classification},
    std::pair{std::string_view("pretrain"), Task::pretrain}, std::pair{std::string_view("masked-lm"), Task::masked_lm},
    std::pair{std::string_view("finetune"), Task::finetune}, std::pair{std::string_view("lora"), Task::lora}};
constexpr std::array kPrecisions = {std::pair{std::string_view("fp32"), Precision::fp32},
                                    std::pair{std::string_view("tf32"), Precision::tf32},
                                    std::pair{std::string_view("bf16"), Precision::bf16},
                                    std::pair{std::string_view("fp16"), Precision::fp16},
                                    std::pair{std::string_view("bf16_all"), Precision::bf16_all},
                                    std::pair{std::string_view("fp16_all"), Precision::fp16_all}};
constexpr std::array kAttentions = {std::pair{std::string_view("eager"), Attention::eager},
                                    std::pair{std::string_view("math"), Attention::math},
                                    std::pair{std::string_view("flash"), Attention::flash},
                                    std::pair{std::string_view("efficient"), Attention::efficient},
                                    std::pair{std::string_view("cudnn"), Attention::cudnn},
                                    std::pair{std::string_view("sdpa"), Attention::sdpa}};
constexpr std::array kOptimizers = {std::pair{std::string_view("sgd"), Optimizer::sgd},
                                    std::pair{std::string_view("adam"), Optimizer::adam},
                                    std::pair{std::string_view("adamw"), Optimizer::adamw},
                                    std::pair{std::string_view("adamw_8bit"), Optimizer::adamw_8bit},
                                    std::pair{std::string_view("paged_adamw_8bit"), Optimizer::paged_adamw_8bit}};
constexpr std::array kSchedules = {std::pair{std::string_view("constant"), Schedule::constant},
                                   std::pair{std::string_view("linear"), Schedule::linear},
                                   std::pair{std::string_view("cosine"), Schedule::cosine}};
constexpr std::array kSwitches = {std::pair{std::string_view("auto"), Switch::automatic},
                                  std::pair{std::string_view("on"), Switch::on},
                                  std::pair{std::string_view("off"), Switch::off}};

template <typename Table, typename Enum>
std::string_view name_in(const Table& table, Enum value) {
  for (const auto& [name, entry] : table) {
    if (entry == value) return name;
  }
  return "?";
}

/// Reads members of nested objects by dotted keys and collects what is wrong with them.
class SpecReader {
 public:
  explicit SpecReader(const json::object& settings) : settings_(settings) {}

  void whole(std::string_view key, std::int64_t& value, std::int64_t least) {
    if (const auto* found = find(key)) read_whole(key, *found, value, least);
  }
  void whole(std::string_view key, std::optional<std::int64_t>& value, std::int64_t least) {
    const auto* found = find(key);
    std::int64_t number = 0;
    if (found && read_whole(key, *found, number, least)) value = number;
  }
  void number(std::string_view key, double& value, double least) {
    const auto* found = find(key);
    if (!found) return;
    json::error_code code;
    const double number = found->to_number<double>(code);
    if (code || !std::isfinite(number) || number < least) return wrong(key, *found, "a number of the allowed range");
    value = number;
  }
  void boolean(std::string_view key, bool& value) {
    const auto* found = find(key);
    if (!found) return;
    if (!found->is_bool()) return wrong(key, *found, "true or false");
    value = found->get_bool();
  }
  void text(std::string_view key, std::string& value) {
    const auto* found = find(key);
    if (!found) return;
    if (!found->is_string()) return wrong(key, *found, "text");
    value = std::string(found->get_string());
  }
  void texts(std::string_view key, std::vector<std::string>& values) {
    const auto* found = find(key);
    if (!found) return;
    if (!found->is_array()) return wrong(key, *found, "a list of texts");
    values.clear();
    for (const auto& element : found->get_array()) {
      if (!element.is_string()) return wrong(key, *found, "a list of texts");
      values.emplace_back(element.get_string());
    }
  }
  void wholes(std::string_view key, std::vector<std::int64_t>& values) {
    const auto* found = find(key);
    if (!found) return;
    if (!found->is_array()) return wrong(key, *found, "a list of whole numbers");
    values.clear();
    for (const auto& element : found->get_array()) {
      std::int64_t number = 0;
      if (!read_whole(key, element, number, 1)) return;
      values.push_back(number);
    }
  }
  template <typename Table, typename Enum>
  void choice(std::string_view key, const Table& table, Enum& value) {
    const auto* found = find(key);
    if (!found) return;
    std::string names;
    for (const auto& [name, entry] : table) {
      if (found->is_string() && found->get_string() == name) {
        value = entry;
        return;
      }
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    wrong(key, *found, "one of " + names);
  }

  /// Null where the key is absent or null. Keys have at most one dot.
  const json::value* find(std::string_view key) {
    const auto dot = key.find('.');
    const auto* value = settings_.if_contains(key.substr(0, dot));
    if (!value || value->is_null() || dot == std::string_view::npos)
      return value && !value->is_null() ? value : nullptr;
    const json::object* group = value->if_object();
    if (!group) {
      const std::string name(key.substr(0, dot));
      if (wrong_groups_.insert(name).second) wrong(name, *value, "a group of settings");
      return nullptr;
    }
    value = group->if_contains(key.substr(dot + 1));
    return value && !value->is_null() ? value : nullptr;
  }
  void complain(const std::string& problem) { problems_ += (problems_.empty() ? "" : "; ") + problem; }
  void finish() const {
    if (!problems_.empty()) throw Failure("bad_spec", problems_, "`assay validate` explains every setting.");
  }

 private:
  bool read_whole(std::string_view key, const json::value& found, std::int64_t& value, std::int64_t least) {
    json::error_code code;
    const auto number = found.to_number<std::int64_t>(code);
    if (code || number < least) {
      wrong(key, found, "a whole number, at least " + std::to_string(least));
      return false;
    }
    value = number;
    return true;
  }
  void wrong(std::string_view key, const json::value& found, const std::string& expected) {
    complain("'" + std::string(key) + "' is " + json::serialize(found) + ", not " + expected);
  }

  const json::object& settings_;
  std::string problems_;
  std::set<std::string> wrong_groups_;  // complained about once, however many keys they have
};

void check_together(const TrainSpec& spec, SpecReader& reader) {
  static const std::set<std::string_view> kModels = {
      "mlp",     "resnet18",       "resnet50",     "bert-base",    "gpt2",       "gpt2-medium", "gpt2-large",
      "gpt2-xl", "tinyllama-1.1b", "llama-3.2-1b", "llama-3.1-8b", "mistral-7b", "generated"};
  if (!kModels.contains(spec.model.name)) reader.complain("there is no model '" + spec.model.name + "'");
  if (spec.device != "auto" && spec.device != "cpu" && spec.device != "cuda") {
    reader.complain("'device' is '" + spec.device + "', not one of auto, cpu, cuda");
  }
  static const std::set<std::string_view> kGenerated = {"spiral", "synthetic-images", "synthetic-tokens",
                                                        "markov-text"};
  if (!kGenerated.contains(spec.dataset.name) && !spec.dataset.is_text() && !spec.dataset.is_cifar10()) {
    reader.complain("there is no data set '" + spec.dataset.name + "'");
  }
  if (spec.dataset.validation >= 1) reader.complain("'dataset.validation' must be less than 1");
  if (spec.dropout >= 1) reader.complain("'dropout' must be less than 1");
  if (!(spec.learning_rate > 0)) reader.complain("'learning_rate' must be more than 0");
  static const std::set<std::string_view> kBlocks = {"fc", "residual", "lstm", "attention"};
  for (const auto& block : spec.model.blocks) {
    if (!kBlocks.contains(block)) reader.complain("there is no block '" + block + "'");
  }
}

/// A language model that starts from nothing and reads bytes knows bytes: a published vocabulary of 50,257 would make
/// most of the work useless. With published weights, or where the specification says so, it stays.
void settle_vocabulary(TrainSpec& spec) {
  const bool reads_bytes = spec.dataset.is_text() && spec.dataset.tokenizer.empty();
  if (!reads_bytes || !spec.is_language() || spec.model.vocabulary || !spec.model.weights.empty()) return;
  if (spec.model.name == "generated") return;                                        // has as many as the data
  spec.model.vocabulary = kByteVocabulary + (spec.task == Task::masked_lm ? 1 : 0);  // one more for the mask
}

}  // namespace

std::string_view name_of(Task task) { return name_in(kTasks, task); }
std::string_view name_of(Precision precision) { return name_in(kPrecisions, precision); }
std::string_view name_of(Attention attention) { return name_in(kAttentions, attention); }
std::string_view name_of(Optimizer optimizer) { return name_in(kOptimizers, optimizer); }

TrainSpec parse_train_spec(const json::object& settings) {
  SpecReader reader(settings);
  if (const auto* kind = reader.find("kind"); kind && *kind != "train") {
    reader.complain("the kind is " + json::serialize(*kind) + ", not \"train\"");
  }
  TrainSpec spec;
  reader.text("name", spec.name);
  std::int64_t seed = 1;
  reader.whole("seed", seed, 0);
  spec.seed = static_cast<std::uint64_t>(seed);
  reader.text("model.name", spec.model.name);
  reader.wholes("model.hidden", spec.model.hidden);
  reader.texts("model.blocks", spec.model.blocks);
  reader.whole("model.layers", spec.model.layers, 1);
  reader.whole("model.width", spec.model.width, 1);
  reader.whole("model.heads", spec.model.heads, 1);
  reader.whole("model.kv_heads", spec.model.kv_heads, 1);
  reader.whole("model.vocabulary", spec.model.vocabulary, 2);
  reader.text("model.weights", spec.model.weights);
  reader.choice("task", kTasks, spec.task);
  reader.text("dataset.name", spec.dataset.name);
  reader.whole("dataset.samples", spec.dataset.samples, 1);
  reader.number("dataset.validation", spec.dataset.validation, 0);
  reader.whole("dataset.arms", spec.dataset.arms, 2);
  reader.number("dataset.noise", spec.dataset.noise, 0);
  reader.text("dataset.tokenizer", spec.dataset.tokenizer);
  reader.whole("data.workers", spec.data_workers, 0);
  reader.whole("data.prefetch", spec.data_prefetch, 0);
  std::string tokenize = "ahead";
  reader.text("data.tokenize", tokenize);
  if (tokenize != "ahead" && tokenize != "on_the_fly") {
    reader.complain("'data.tokenize' is '" + tokenize + "', not one of ahead, on_the_fly");
  }
  spec.tokenize_ahead = tokenize == "ahead";
  reader.whole("epochs", spec.epochs, 1);
  reader.whole("steps", spec.steps, 1);
  if (double seconds = 0; reader.find("duration")) {
    reader.number("duration", seconds, 0);
    spec.duration_seconds = seconds;
  }
  reader.whole("batch_size", spec.batch_size, 1);
  reader.whole("gradient_accumulation", spec.gradient_accumulation, 1);
  reader.whole("seq_length", spec.seq_length, 1);
  reader.number("learning_rate", spec.learning_rate, 0);
  reader.choice("schedule", kSchedules, spec.schedule);
  reader.whole("warmup_steps", spec.warmup_steps, 0);
  reader.number("gradient_clipping", spec.gradient_clipping, 0);
  reader.choice("optimizer", kOptimizers, spec.optimizer);
  reader.number("weight_decay", spec.weight_decay, 0);
  reader.whole("lora.rank", spec.lora.rank, 1);
  reader.number("lora.alpha", spec.lora.alpha, 0);
  reader.texts("lora.targets", spec.lora.targets);
  reader.boolean("gradient_checkpointing", spec.gradient_checkpointing);
  reader.number("dropout", spec.dropout, 0);
  reader.whole("eval_interval", spec.eval_interval, 0);
  reader.choice("cuda_graphs", kSwitches, spec.cuda_graphs);
  reader.whole("profile", spec.profile_steps, 0);
  reader.text("device", spec.device);
  reader.choice("precision", kPrecisions, spec.precision);
  reader.choice("attention", kAttentions, spec.attention);
  reader.whole("ranks", spec.ranks, 1);
  check_together(spec, reader);
  reader.finish();
  settle_vocabulary(spec);
  return spec;
}

TrainSpec read_train_spec(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Failure("missing_file", "the specification '" + path + "' cannot be read: " + std::strerror(errno));
  }
  std::ostringstream content;
  content << file.rdbuf();
  json::error_code code;
  const json::value value = json::parse(content.str(), code);
  if (code) throw Failure("bad_spec", "'" + path + "' is not JSON: " + code.message());
  if (!value.is_object()) throw Failure("bad_spec", "'" + path + "' is JSON, but not an object");
  return parse_train_spec(value.get_object());
}

}  // namespace assay::engine
