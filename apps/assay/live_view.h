#pragma once

#include <optional>
#include <string>

#include "agent/run_notice.h"
#include "report/text/style.h"
#include "runs/follow.h"
#include "store/journal/journal.h"

namespace assay {

/// Shows a run on the terminal while it goes on: the workload's own output and, on a terminal, one line of progress at
/// the bottom.
class LiveView final : public RunObserver {
 public:
  struct Options {
    bool show_output = true;       ///< the workload's text, each stream to its own
    bool output_to_error = false;  ///< all of it to standard error (standard output is ours)
    bool show_progress = true;     ///< on a terminal; elsewhere why a run waits
    bool show_read = true;         ///< what was read from the workload's text, behind the first run that had some
  };
  LiveView(Options options, const TerminalStyle& style);
  ~LiveView() override;

  /// Stands before the progress: "3/12 batch_size=64".
  void set_title(std::string title) { title_ = std::move(title); }

  void on_start(const Run& run) override;
  void on_output(OutputStream stream, std::string_view text) override;
  /// On a terminal as progress, elsewhere a line for each new reason.
  void on_waiting(std::string_view why, Nanos elapsed) override;
  void on_progress(const RunFacts& facts, Nanos elapsed) override;
  /// Lists once what was read from ordinary output, since nobody asked for it by name.
  void on_recorded(const RunFacts& facts) override;
  void on_end(const Run& run) override;

 private:
  void erase_progress();
  /// What stands before every line of progress.
  std::string progress_start(Nanos elapsed);

  Options options_;
  TerminalStyle style_;
  std::optional<RunNotice> notice_;  ///< an agent of this machine looks more often while a run is on it
  std::string title_;
  std::string why_;              ///< it was said last to wait for this
  bool progress_ = false;        ///< there is a terminal to show it on
  bool progress_shown_ = false;  ///< the cursor is behind it
  bool line_open_ = false;       ///< the workload's text stands in an unfinished line: no place for progress
  bool read_shown_ = false;
  int frame_ = 0;
};

}  // namespace assay
