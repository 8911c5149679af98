#include "report/build/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "report/build/sections.h"

namespace assay {
namespace {

struct Counts {
  std::size_t valid = 0;
  std::size_t flagged = 0;
  std::size_t failed = 0;
  std::size_t invalid = 0;
  std::size_t other = 0;
};

Counts count_verdicts(std::span<const RecordedRun> runs) {
  Counts counts;
  for (const auto& one : runs) {
    switch (one.run.verdict) {
      case Verdict::valid: ++counts.valid; break;
      case Verdict::flagged: ++counts.flagged; break;
      case Verdict::failed: ++counts.failed; break;
      case Verdict::invalid: ++counts.invalid; break;
      case Verdict::interrupted:
      case Verdict::none: ++counts.other; break;
    }
  }
  return counts;
}

void set_verdict(Document& document, const ReportInput& input) {
  const Counts counts = count_verdicts(input.runs);
  const std::size_t total = input.runs.size();
  std::vector<std::string> parts = {total == 1 ? std::string(verdict_name(input.runs.front().run))
                                               : fmt::format("{} of {} runs valid", counts.valid, total)};
  if (total > 1) {
    if (counts.flagged > 0) parts.push_back(fmt::format("{} flagged", counts.flagged));
    if (counts.invalid > 0) parts.push_back(fmt::format("{} invalid", counts.invalid));
    if (counts.failed > 0) parts.push_back(fmt::format("{} failed", counts.failed));
    if (counts.other > 0) parts.push_back(fmt::format("{} not finished", counts.other));
  }
  document.verdict = join(parts, ", ");
  const std::size_t bad = counts.invalid + counts.failed + counts.other;
  document.verdict_tone = bad == total ? Tone::bad : bad + counts.flagged > 0 ? Tone::warning : Tone::good;
}

std::string subtitle_of(const ReportInput& input) {
  std::set<std::string> kinds;
  std::set<std::string> hosts;
  WallTime last{};
  for (const auto& one : input.runs) {
    kinds.insert(one.run.kind);
    if (!one.run.provenance.hostname.empty()) hosts.insert(one.run.provenance.hostname);
    last = std::max(last, std::max(one.run.ended, one.run.created));
  }
  const std::string where = hosts.empty()       ? ""
                            : hosts.size() == 1 ? *hosts.begin()
                                                : fmt::format("{} hosts", hosts.size());
  std::vector<std::string> parts;
  if (input.study) parts.push_back("study " + input.study->id);
  parts.push_back(
      fmt::format("{} run{} of kind {}", input.runs.size(), input.runs.size() == 1 ? "" : "s", join(kinds, ", ")));
  if (input.deleted > 0) parts.push_back(fmt::format("{} deleted since", input.deleted));
  if (!where.empty()) parts.push_back(where);
  if (last != WallTime{}) parts.push_back("last data of " + iso8601(last));
  return join(parts, " · ");
}

}  // namespace

Document report_on(const ReportInput& input) {
  const Answers answers = answers_to(input);
  Document document{.title = input.title, .subtitle = subtitle_of(input)};
  set_verdict(document, input);
  for (const auto& row : report_sections()) {
    auto section = row.build(answers);
    if (!section) continue;
    section->id = row.id;
    section->title = row.title;
    document.sections.push_back(std::move(*section));
  }
  return document;
}

}  // namespace assay
