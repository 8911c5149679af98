#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "model/run.h"
#include "runs/line_splitter.h"
#include "runs/protocol.h"
#include "runs/text_metrics.h"
#include "store/store.h"
#include "telemetry/metric_source.h"

namespace assay {

/// Everything a run said about itself, beside its points, events and output.
struct RunFacts {
  json::object hello;                     ///< the workload's greeting, if it sent one
  std::optional<RunError> error;          ///< from an `error` event; the first one counts
  std::map<std::string, double> results;  ///< from `result` events
  std::map<std::string, double> last;     ///< last value of each workload metric, finite or not
  std::vector<Flag> flags;                ///< from `warning` and `result` events
  std::string phase;
  std::string last_error_line;  ///< what it printed last on standard error
  std::optional<std::int64_t> last_step;
  std::optional<std::int64_t> total_steps;  ///< as the workload announced it

  std::int64_t events = 0;
  std::int64_t malformed = 0;
  std::string first_malformed;  ///< what was wrong with the first of them
  std::int64_t newer = 0;       ///< events of a newer protocol version
  std::map<std::string, std::int64_t> unknown_types;
  std::int64_t over_long_lines = 0;
  std::int64_t output_bytes = 0;
  std::int64_t output_dropped = 0;       ///< beyond the limit on output
  std::optional<Error> recording_error;  ///< the first failure to write; recording has stopped there
};

struct RecorderOptions {
  std::size_t output_limit = std::size_t{64} << 20;  ///< bytes of output kept
};

/// Turns what a workload prints and sends into events, points and output of a run. Whatever arrives, it does not fail:
/// what it cannot use it counts. One thread.
class RunRecorder {
 public:
  /// `writer` and `clock` must outlive it.
  RunRecorder(RunWriter& writer, TextMetrics patterns, RecorderOptions options, const Clock& clock);

  /// Bytes from the workload's standard output or error. Returns what of them is ordinary text, to be shown at once;
  /// valid until the next call.
  std::string_view add_output(OutputStream stream, std::string_view bytes);
  /// Bytes from the event pipe.
  void add_events(std::string_view bytes);
  /// Telemetry of this moment.
  void add_reading(const Reading& reading);
  /// Hands everything so far to the operating system.
  void flush();
  /// The streams have ended: takes what was left without a newline.
  void close();

  const RunFacts& facts() const { return facts_; }

 private:
  struct Stream {
    LineSplitter lines;
    ProtocolParser parser;
    std::string kept;       ///< whole lines of ordinary text, to record
    std::string shown;      ///< ordinary text to show, the beginning of an unfinished line included
    std::size_t ahead = 0;  ///< bytes of the unfinished line that were shown already
  };

  void take_line(Stream& stream, OutputStream which, const SplitLine& line);
  void take_event_line(const SplitLine& line);
  void keep_text(OutputStream which, const std::string& text);
  void take_event(const ProtocolParser& parser, std::string_view line);
  void take_problem(ProtocolParser::Outcome outcome, const ProtocolParser& parser);
  void take_metrics(std::string_view prefix, std::int64_t step, const json::object& body);
  void take_steps(const json::object& body);
  void take_hello(const json::object& body);
  void take_error(const json::object& body);
  void take_result(const json::object& body);
  void add_point(std::string_view name, std::int64_t step, std::int64_t time_ns, double value);
  std::int64_t time_now() const;
  /// The workload's own clock (seconds since it started) where an event has one, else when the event came.
  std::int64_t time_from(const json::value* t) const;
  SeriesHandle series_for(std::string_view name, std::string_view unit);
  void note(Result<void> written);

  struct TransparentHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct Series {
    SeriesHandle handle = 0;
    double* last = nullptr;
  };

  RunWriter& writer_;
  TextMetrics patterns_;
  RecorderOptions options_;
  const Clock& clock_;
  SteadyTime started_;
  WallTime started_wall_;
  std::int64_t now_ns_ = 0;  ///< of the bytes being taken in
  std::int64_t text_step_ = 0;
  Stream out_, error_, events_;
  std::unordered_map<std::string, Series, TransparentHash, std::equal_to<>> series_;
  RunFacts facts_;
};

}  // namespace assay
