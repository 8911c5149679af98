#include "serving/answer_quality.h"

#include <unordered_map>

#include "analysis/rouge.h"

namespace assay {
namespace {

/// The object in an answer, also within a block of Markdown, as models like to write it.
std::string_view without_fence(std::string_view text) {
  constexpr std::string_view kFence = "```";
  const auto begin = text.find(kFence);
  if (begin == std::string_view::npos) return text;
  const auto line = text.find('\n', begin);
  const auto end = line == std::string_view::npos ? line : text.find(kFence, line);
  return end == std::string_view::npos ? text : text.substr(line + 1, end - line - 1);
}

}  // namespace

json::object answer_quality(const ServeSettings& settings, const ServeRequests& requests,
                            const QueryRecorder& recorder) {
  std::unordered_map<std::uint64_t, std::string_view> texts;
  for (const auto& [id, text] : recorder.texts()) texts.emplace(id, text);
  double scored = 0;
  double one = 0;
  double two = 0;
  double longest = 0;
  double answered = 0;
  double json_answers = 0;
  PromptRequest request;
  for (std::uint64_t id = 0; id < recorder.issued(); ++id) {
    const auto found = texts.find(id);
    const std::string_view text = found == texts.end() ? std::string_view() : found->second;
    ++answered;
    if (settings.answers_in_json && parse_json(without_fence(text)).ok()) ++json_answers;
    if (!requests.set) continue;
    requests.set->make(recorder.record(id).sample, request);
    if (request.reference.empty()) continue;
    const RougeScores scores = rouge(text, request.reference);
    ++scored;
    one += scores.one.f1;
    two += scores.two.f1;
    longest += scores.longest.f1;
  }
  json::object metrics;
  if (scored > 0) {
    metrics["rouge_1"] = one / scored;
    metrics["rouge_2"] = two / scored;
    metrics["rouge_l"] = longest / scored;
    metrics["answers_scored"] = scored;
  }
  if (settings.answers_in_json && answered > 0) metrics["format_rate"] = json_answers / answered;
  return metrics;
}

}  // namespace assay
