#include "live_view.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <utility>

#include "base/files.h"
#include "base/units.h"
#include "context.h"
#include "model/metric.h"
#include "model/run.h"
#include "report/text/table.h"
#include "runs/run_facts.h"
#include "store/journal/journal.h"
#include "watched_figures.h"

namespace assay {
namespace {

constexpr int kBarWidth = 24;

std::string bar(double share, const TerminalStyle& style) {
  const int filled = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kBarWidth));
  std::string done;
  std::string rest;
  for (int i = 0; i < filled; ++i) done += style.pick("━", "=");
  for (int i = filled; i < kBarWidth; ++i) rest += style.pick("━", "-");
  return style.paint(Colour::cyan, done) + style.paint(Colour::dim, rest);
}

}  // namespace

LiveView::LiveView(Options options, const TerminalStyle& style)
    : options_(options), style_(style), progress_(options.show_progress && ::isatty(STDERR_FILENO) == 1) {}

LiveView::~LiveView() { erase_progress(); }

void LiveView::erase_progress() {
  if (progress_shown_) print_error("\r\x1b[K");
  progress_shown_ = false;
}

void LiveView::on_start(const Run& run) { notice_.emplace(RunNotice::announce(run.id)); }

void LiveView::on_output(OutputStream stream, std::string_view text) {
  if (!options_.show_output) return;
  erase_progress();
  line_open_ = text.back() != '\n';
  const int fd = stream == OutputStream::out && !options_.output_to_error ? STDOUT_FILENO : STDERR_FILENO;
  // Straight through, unbuffered: the order of the two streams is the workload's. A reader that went away is no
  // reason to stop recording.
  (void)write_all(fd, text).ok();
}

std::string LiveView::progress_start(Nanos elapsed) {
  static constexpr std::array<std::string_view, 10> kFrames = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
  std::string line = fmt::format(
      " {} ",
      style_.paint(Colour::cyan, style_.pick(kFrames[static_cast<std::size_t>(frame_++) % kFrames.size()], "*")));
  if (!title_.empty()) line += shorten(title_, 40, style_) + "  ";
  return line + format_duration(elapsed);
}

void LiveView::on_waiting(std::string_view why, Nanos elapsed) {
  if (!options_.show_progress) return;
  if (progress_) {
    print_error(fmt::format("\r{}  {}\x1b[K", progress_start(elapsed), why));
    progress_shown_ = true;
  } else if (why_ != why) {
    why_ = why;
    print_error(fmt::format("{}\n", why));
  }
}

void LiveView::on_progress(const RunFacts& facts, Nanos elapsed) {
  if (!progress_ || line_open_) return;
  std::string line = progress_start(elapsed);
  if (!facts.phase.empty()) line += "  " + facts.phase;
  if (facts.last_step && facts.total_steps && *facts.total_steps > 0) {
    const double share = static_cast<double>(*facts.last_step + 1) / static_cast<double>(*facts.total_steps);
    line += fmt::format("  {}  {:.0f} %", bar(share, style_), std::min(share, 1.0) * 100);
  } else if (facts.last_step && !is_load(facts.last)) {
    line += fmt::format("  step {}", format_count(static_cast<double>(*facts.last_step)));
  }
  const std::size_t used = columns_of(line);
  const auto width = static_cast<std::size_t>(std::max(style_.width, 1));
  line += watched_figures(facts.last, style_, width > used ? width - used : 0);
  print_error("\r" + line + "\x1b[K");
  progress_shown_ = true;
}

void LiveView::on_recorded(const RunFacts& facts) {
  if (!options_.show_read || read_shown_ || facts.read.empty()) return;
  read_shown_ = true;
  std::string list;
  for (const auto& [name, how] : facts.read) {
    list += fmt::format("{}{}{}", list.empty() ? "" : ", ", name, how.empty() ? "" : fmt::format(" ({})", how));
  }
  erase_progress();
  if (std::exchange(line_open_, false)) print_error("\n");
  print_error(fmt::format("  {}\n", style_.paint(Colour::dim, fmt::format("read {} from its output", list))));
}

void LiveView::on_end(const Run&) {
  notice_.reset();
  erase_progress();
  if (line_open_) print_error("\n");
  line_open_ = false;
}

}  // namespace assay
