#include "queue_view.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "base/units.h"

namespace assay {

std::string rough_time(Nanos time) {
  const double seconds = seconds_of(time);
  if (seconds < 60) return fmt::format("{:.0f} s", std::max(0.0, seconds));
  if (seconds < 3600) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.1f} d", seconds / 86'400);
}

std::string start_text(std::optional<WallTime> expected, std::optional<WallTime> late, WallTime now) {
  if (!expected) return "-";
  if (*expected - now < std::chrono::seconds(1)) return "now";
  const auto soon = rough_time(*expected - now);
  const auto at_last = late ? rough_time(*late - now) : soon;
  return soon == at_last ? "in " + soon : fmt::format("in {} – {}", soon, at_last);
}

std::string waiting_start_text(const QueuedRun& run, WallTime now) {
  const auto text = start_text(run.expected_start, run.late_start, now);
  return text == "now" ? "soon" : text;
}

std::string length_text(const ExpectedLength& length) {
  const Nanos expected(static_cast<std::int64_t>(length.seconds * 1e9));
  if (length.from_runs == 0) return rough_time(expected) + " ?";
  return fmt::format("{} ×/÷ {:.1f}", rough_time(expected), length.factor);
}

std::string with_further(const std::string& node, const std::vector<std::string>& further) {
  return further.empty() ? node : node + ", " + join(further, ", ");
}

namespace {

/// Whether it will have ended when it is to.
std::string deadline_text(const QueuedRun& run, WallTime now) {
  if (!run.deadline) return {};
  auto end = run.expected_end;
  if (!end && run.expected_start)
    end = *run.expected_start + Nanos(static_cast<std::int64_t>(run.length.seconds * 1e9));
  const Nanos left = *run.deadline - now;
  const std::string due = left > Nanos(0) ? "due in " + rough_time(left) : "was due " + rough_time(-left) + " ago";
  return end && *end > *run.deadline && left > Nanos(0) ? due + ", probably late" : due;
}

std::string state_sentence(const QueuedRun& run, WallTime now) {
  if (run.stopping) return "is told to end";
  if (run.state != RunState::queued) {
    if (!run.why.empty()) return printable(run.why);
    if (!run.expected_end) return "begins on " + printable(with_further(run.node, run.further));
    const Nanos left = *run.expected_end - now;
    return left > Nanos(0) ? fmt::format("about {} left", rough_time(left)) : "takes longer than expected";
  }
  if (run.reason.empty()) return "is given to " + printable(with_further(run.node, run.further));
  std::string text = printable(run.why);
  if (run.expected_start) text += "; starts " + waiting_start_text(run, now);
  return text;
}

}  // namespace

std::string sentence_of(const QueuedRun& run, WallTime now) {
  const auto due = deadline_text(run, now);
  return state_sentence(run, now) + (due.empty() ? "" : "; " + due);
}

}  // namespace assay
