#include "model/metric_direction.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

namespace assay {
namespace {

using enum MetricInfo::Better;

constexpr std::array<std::string_view, 37> kHigher = {
    "accuracy", "acc",  "accuracies", "f1",   "auc",   "auroc",  "auprc",  "precision", "recall",     "map",
    "miou",     "iou",  "dice",       "bleu", "rouge", "meteor", "r2",     "reward",    "rewards",    "return",
    "returns",  "mfu",  "throughput", "fps",  "qps",   "rps",    "speed",  "speedup",   "efficiency", "psnr",
    "ssim",     "ndcg", "mrr",        "top1", "top5",  "elo",    "success"};
constexpr std::array<std::string_view, 30> kLower = {
    "loss",    "losses",   "error",      "errors", "err",   "mae",   "mse",  "rmse",    "mape", "nll",
    "bpb",     "bpc",      "bpd",        "cer",    "wer",   "fid",   "ppl",  "latency", "time", "seconds",
    "elapsed", "duration", "perplexity", "ece",    "brier", "delay", "lost", "misses",  "cost", "failures"};
constexpr std::array<std::string_view, 13> kSpeed = {"time",  "seconds",    "latency", "elapsed", "duration",
                                                     "delay", "throughput", "fps",     "qps",     "rps",
                                                     "speed", "speedup",    "ms"};
/// As a whole name only: `epoch.loss` is a loss.
constexpr std::array<std::string_view, 16> kNeither = {
    "epoch", "epochs", "step",     "steps", "iteration", "iterations", "iter",     "iters",
    "lr",    "eta",    "progress", "seed",  "batch",     "rank",       "momentum", "learning_rate"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// In small letters, at whatever is neither letter nor digit, and between `valLoss`.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  char before = ' ';
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    const bool joins = std::isalnum(letter) != 0;
    const bool hump = std::isupper(letter) && std::islower(static_cast<unsigned char>(before));
    if ((!joins || hump) && !words.back().empty()) words.emplace_back();
    if (joins) words.back() += static_cast<char>(std::tolower(letter));
    before = c;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// `tokens_per_sec`, `it/s`: a rate, whatever its unit of time would say alone.
bool is_rate(const std::vector<std::string>& words, std::string_view name) {
  constexpr std::array<std::string_view, 7> kSpans = {"second", "sec", "s", "minute", "min", "hour", "h"};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "per" && contains(kSpans, words[i + 1])) return true;
  }
  return name.ends_with("/s") || name.ends_with("/sec");
}

}  // namespace

std::optional<MetricInfo::Better> better_by_name(std::string_view name) {
  if (const MetricInfo* known = find_metric(name)) return known->better;
  const auto words = words_of(name);
  if (words.size() == 1 && contains(kNeither, words.front())) return neither;
  if (is_rate(words, name)) return higher;
  const bool up = std::any_of(words.begin(), words.end(), [](const auto& word) { return contains(kHigher, word); });
  const bool down = std::any_of(words.begin(), words.end(), [](const auto& word) { return contains(kLower, word); });
  if (up == down) return std::nullopt;
  return up ? higher : lower;
}

bool names_speed(std::string_view name) {
  const auto words = words_of(name);
  return is_rate(words, name) ||
         std::any_of(words.begin(), words.end(), [](const auto& word) { return contains(kSpeed, word); });
}

}  // namespace assay
