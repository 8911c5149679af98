#include "spec/mlperf_limits.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "spec/spec.h"

namespace assay {
namespace {

struct Latencies {
  double ttft_s = 0;  ///< 0: there is no limit
  double tpot_s = 0;
};
struct ModelLimits {
  std::string_view model;
  Latencies server;
  Latencies interactive;
};
constexpr std::array kModels = {
    ModelLimits{"llama3.1-8b", {2, 0.1}, {0.5, 0.03}},     ModelLimits{"llama2-70b", {2, 0.2}, {0.45, 0.04}},
    ModelLimits{"llama3.1-405b", {6, 0.175}, {4.5, 0.08}}, ModelLimits{"mixtral-8x7b", {2, 0.2}, {}},
    ModelLimits{"deepseek-r1", {2, 0.08}, {1.5, 0.015}},   ModelLimits{"gpt-oss-120b", {3, 0.08}, {2, 0.02}},
};
constexpr std::string_view kServer = "mlperf";
constexpr std::string_view kInteractive = "mlperf_interactive";

/// What may stand behind a model's name and leaves it the same model: how it was tuned, and its number format.
constexpr std::array<std::string_view, 19> kSameModel = {"instruct", "chat", "hf",    "it",    "v0",   "1",    "0528",
                                                         "fp8",      "fp4",  "nvfp4", "mxfp4", "bf16", "fp16", "int4",
                                                         "int8",     "w8a8", "awq",   "gptq",  "v1"};

/// `meta-llama/Llama-3.1-8B-Instruct` → llama 3 1 8b instruct.
std::vector<std::string> words_of(std::string_view name) {
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  std::vector<std::string> words(1);
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) {
      words.back() += static_cast<char>(std::tolower(byte));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  if (!words.empty() && words.front() == "meta") words.erase(words.begin());
  return words;
}

bool is_model(const std::vector<std::string>& words, std::string_view known) {
  std::string wanted;
  for (const std::string& word : words_of(known)) wanted += word;
  std::string begun;
  for (auto word = words.begin(); word != words.end(); ++word) {
    begun += *word;
    if (begun != wanted) continue;
    return std::all_of(word + 1, words.end(), [](const std::string& rest) {
      return std::find(kSameModel.begin(), kSameModel.end(), rest) != kSameModel.end();
    });
  }
  return false;
}

Latencies latencies_of(const ModelLimits& model, std::string_view set) {
  return set == kServer ? model.server : set == kInteractive ? model.interactive : Latencies{};
}

}  // namespace

const std::vector<std::string>& latency_limit_sets() {
  static const std::vector<std::string> sets = {std::string(kServer), std::string(kInteractive)};
  return sets;
}

std::optional<json::object> mlperf_limits(std::string_view set, std::string_view model) {
  const auto words = words_of(model);
  for (const ModelLimits& known : kModels) {
    const Latencies latencies = latencies_of(known, set);
    if (latencies.ttft_s == 0 || !is_model(words, known.model)) continue;
    return json::object{{"ttft_p99", latencies.ttft_s}, {"tpot_p99", latencies.tpot_s}};
  }
  return std::nullopt;
}

std::vector<std::string> models_with_limits(std::string_view set) {
  std::vector<std::string> names;
  for (const ModelLimits& known : kModels) {
    if (latencies_of(known, set).ttft_s > 0) names.emplace_back(known.model);
  }
  return names;
}

void put_limits_of_sets(json::object& settings) {
  const json::value* model = find_setting(settings, "model.name");
  if (!model || !model->is_string()) return;
  for (const std::string_view key : {"limits", "find_peak"}) {
    json::value* set = settings.if_contains(key);
    if (!set || !set->is_string()) continue;
    if (auto limits = mlperf_limits(set->get_string(), model->get_string())) *set = std::move(*limits);
  }
}

}  // namespace assay
