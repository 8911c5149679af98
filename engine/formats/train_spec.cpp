#include "formats/train_spec.h"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "formats/failure.h"
#include "spec/spec_setting.h"

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

std::string joined(const std::vector<std::string_view>& words) {
  std::string all;
  for (const std::string_view word : words) all += (all.empty() ? "" : ", ") + std::string(word);
  return all;
}

/// A limit as people write it: 1, 0.5, 1e+12.
std::string limit_words(double limit) {
  std::ostringstream text;
  text << limit;
  return text.str();
}

/// The default of a row as it would stand in the settings that `assay` hands over.
json::value default_of(const Setting& row) {
  const auto scalar = [](std::string_view text, bool is_number) {
    return is_number ? json::parse(text) : json::value(text);
  };
  std::string_view text = row.default_value;
  const bool is_number =
      row.type == SettingType::whole || row.type == SettingType::number || row.type == SettingType::wholes;
  if (row.type == SettingType::boolean) return text == "true";
  if (!is_list(row.type)) return scalar(text, is_number);
  json::array items;
  for (text = text.substr(1, text.size() - 2); !text.empty();) {
    const std::size_t comma = text.find(", ");
    items.push_back(scalar(text.substr(0, comma), is_number));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 2);
  }
  return items;
}

/// Reads settings by dotted keys, each against its row of the table: default, range, choices. Collects what is wrong.
class SpecReader {
 public:
  explicit SpecReader(const json::object& settings) : settings_(settings) {}

  void whole(std::string_view key, std::int64_t& value) {
    if (const auto found = take(key)) read_whole(key, *found, value);
  }
  void whole(std::string_view key, std::optional<std::int64_t>& value) {
    const auto found = take(key);
    std::int64_t number = 0;
    if (found && read_whole(key, *found, number)) value = number;
  }
  void number(std::string_view key, double& value) {
    const auto found = take(key);
    if (!found) return;
    json::error_code code;
    const double number = found->to_number<double>(code);
    if (code || !std::isfinite(number)) return wrong(key, *found, "a number");
    const Range range = row_of(key).rule.range.value_or(Range());
    if (range.above_least ? number <= range.least : number < range.least) {
      return complain("'" + std::string(key) + "' must be " + (range.above_least ? "more than " : "at least ") +
                      limit_words(range.least) + ", not " + json::serialize(*found));
    }
    if (range.below_most ? number >= range.most : number > range.most) {
      return complain("'" + std::string(key) + "' must be " + (range.below_most ? "less than " : "at most ") +
                      limit_words(range.most) + ", not " + json::serialize(*found));
    }
    value = number;
  }
  void number(std::string_view key, std::optional<double>& value) {
    if (!find(key)) return;
    double number_read = 0;
    number(key, number_read);
    value = number_read;
  }
  void boolean(std::string_view key, bool& value) {
    const auto found = take(key);
    if (!found) return;
    if (!found->is_bool()) return wrong(key, *found, "true or false");
    value = found->get_bool();
  }
  /// False if there is a value and it is no text.
  bool text(std::string_view key, std::string& value) {
    const auto found = take(key);
    if (!found) return true;
    if (!found->is_string()) {
      wrong(key, *found, "text");
      return false;
    }
    value = std::string(found->get_string());
    return true;
  }
  /// A text that must be one of the row's choices; `what` there is of them: "model".
  void named(std::string_view key, std::string_view what, std::string& value) {
    if (text(key, value)) check_choice(key, what, value);
  }
  void check_each(std::string_view key, std::string_view what, const std::vector<std::string>& values) {
    for (const std::string& value : values) check_choice(key, what, value);
  }
  void texts(std::string_view key, std::vector<std::string>& values) {
    const auto found = take(key);
    if (!found) return;
    if (!found->is_array()) return wrong(key, *found, "a list of texts");
    values.clear();
    for (const auto& element : found->get_array()) {
      if (!element.is_string()) return wrong(key, *found, "a list of texts");
      values.emplace_back(element.get_string());
    }
  }
  void wholes(std::string_view key, std::vector<std::int64_t>& values) {
    const auto found = take(key);
    if (!found) return;
    if (!found->is_array()) return wrong(key, *found, "a list of whole numbers");
    values.clear();
    for (const auto& element : found->get_array()) {
      std::int64_t number = 0;
      if (!read_whole(key, element, number)) return;
      values.push_back(number);
    }
  }
  template <typename Table, typename Enum>
  void choice(std::string_view key, const Table& table, Enum& value) {
    const auto found = take(key);
    if (!found) return;
    for (const auto& [name, entry] : table) {
      if (found->is_string() && found->get_string() == name) {
        value = entry;
        return;
      }
    }
    wrong(key, *found, "one of " + joined(row_of(key).rule.choices));
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
  /// The value that was given, else the table's default, else nothing.
  std::optional<json::value> take(std::string_view key) {
    if (const auto* found = find(key)) return *found;
    const Setting& row = row_of(key);
    return row.default_value.empty() ? std::nullopt : std::optional(default_of(row));
  }
  void complain(const std::string& problem) { problems_ += (problems_.empty() ? "" : "; ") + problem; }
  void finish() const {
    if (!problems_.empty()) throw Failure("bad_spec", problems_, "`assay validate` explains every setting.");
  }

 private:
  void check_choice(std::string_view key, std::string_view what, const std::string& value) {
    const auto& choices = row_of(key).rule.choices;
    const bool known = std::any_of(choices.begin(), choices.end(), [&](std::string_view choice) {
      return choice.ends_with(':') ? value.starts_with(choice) : value == choice;
    });
    if (known) return;
    complain(what.empty() ? "'" + std::string(key) + "' is '" + value + "', not one of " + joined(choices)
                          : "there is no " + std::string(what) + " '" + value + "'");
  }
  static const Setting& row_of(std::string_view key) {
    const Setting* row = resolve_key(SpecKind::train, key).setting;
    if (!row) throw std::logic_error("no row for the setting " + std::string(key));
    return *row;
  }
  bool read_whole(std::string_view key, const json::value& found, std::int64_t& value) {
    json::error_code code;
    const auto number = found.to_number<std::int64_t>(code);
    const Range range = row_of(key).rule.range.value_or(Range());
    const auto measured = static_cast<double>(number);
    if (code || measured < range.least || measured > range.most) {
      wrong(key, found,
            "a whole number, at least " + limit_words(range.least) +
                (!code && measured > range.most ? ", at most " + limit_words(range.most) : ""));
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
  std::int64_t seed = 0;
  reader.whole("seed", seed);
  spec.seed = static_cast<std::uint64_t>(seed);
  reader.named("model.name", "model", spec.model.name);
  reader.wholes("model.hidden", spec.model.hidden);
  reader.texts("model.blocks", spec.model.blocks);
  reader.check_each("model.blocks", "block", spec.model.blocks);
  reader.whole("model.layers", spec.model.layers);
  reader.whole("model.width", spec.model.width);
  reader.whole("model.heads", spec.model.heads);
  reader.whole("model.kv_heads", spec.model.kv_heads);
  reader.whole("model.vocabulary", spec.model.vocabulary);
  reader.text("model.weights", spec.model.weights);
  reader.choice("task", kTasks, spec.task);
  reader.named("dataset.name", "data set", spec.dataset.name);
  reader.whole("dataset.samples", spec.dataset.samples);
  reader.number("dataset.validation", spec.dataset.validation);
  reader.whole("dataset.arms", spec.dataset.arms);
  reader.number("dataset.noise", spec.dataset.noise);
  reader.text("dataset.tokenizer", spec.dataset.tokenizer);
  reader.whole("data.workers", spec.data_workers);
  reader.whole("data.prefetch", spec.data_prefetch);
  std::string tokenize;
  reader.named("data.tokenize", "", tokenize);
  spec.tokenize_ahead = tokenize == "ahead";
  reader.whole("epochs", spec.epochs);
  reader.whole("steps", spec.steps);
  reader.number("duration", spec.duration_seconds);
  reader.whole("batch_size", spec.batch_size);
  reader.whole("gradient_accumulation", spec.gradient_accumulation);
  reader.whole("seq_length", spec.seq_length);
  reader.number("learning_rate", spec.learning_rate);
  reader.choice("schedule", kSchedules, spec.schedule);
  reader.whole("warmup_steps", spec.warmup_steps);
  reader.number("gradient_clipping", spec.gradient_clipping);
  reader.choice("optimizer", kOptimizers, spec.optimizer);
  reader.number("weight_decay", spec.weight_decay);
  reader.whole("lora.rank", spec.lora.rank);
  reader.number("lora.alpha", spec.lora.alpha);
  reader.texts("lora.targets", spec.lora.targets);
  reader.boolean("gradient_checkpointing", spec.gradient_checkpointing);
  reader.number("dropout", spec.dropout);
  reader.whole("eval_interval", spec.eval_interval);
  reader.choice("cuda_graphs", kSwitches, spec.cuda_graphs);
  reader.whole("profile", spec.profile_steps);
  reader.named("device", "", spec.device);
  reader.choice("precision", kPrecisions, spec.precision);
  reader.choice("attention", kAttentions, spec.attention);
  reader.whole("ranks", spec.ranks);
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
