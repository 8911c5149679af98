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
#include "runs/run_facts.h"
#include "runs/text_metrics.h"
#include "runs/text_steps.h"
#include "store/run_writer.h"
#include "telemetry/lines/reading_lines.h"

namespace assay {

struct Reading;
template <typename T>
struct PerStream;

/// More metrics than this are surely a mistake (a step number in the name), and each costs memory.
inline constexpr std::size_t kMostMetrics = 2000;
inline constexpr std::size_t kLongestMetricName = 200;
inline constexpr std::size_t kMostWarnings = 100;  ///< of the workload's, kept as flags

struct RecorderOptions {
  std::size_t output_limit = std::size_t{64} << 20;  ///< bytes of output kept
  /// Whatever is handed to the writer comes with a mark, so that another recorder can go on from there: for runs that
  /// are recorded in groups (store/run_writer.h).
  bool marks = false;
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
  /// Bytes of a job's readings: telemetry of the machines where it runs (telemetry/lines). Their times are told by the
  /// clocks of those machines; what the run's clock is to them is taken from when the job began.
  void add_readings(std::string_view bytes);
  /// Hands everything so far to the operating system; with marks, as a group.
  void flush();
  /// The streams have ended: takes what was left without a newline.
  void close();

  const RunFacts& facts() const { return facts_; }

  // With marks. What was taken in up to a mark is a function of the bytes of the streams; so a recorder that was made
  // with the same patterns and options, that was given the state of a mark and goes on with the bytes behind it, ends
  // with the same facts, and the writer with the same points, events and output.
  /// Goes on where the recorder stopped whose marks have said `state` together; the time since the last of them is a
  /// gap. Call before anything is taken in.
  Result<void> restore(const json::object& state);
  /// The bytes of each stream that need not come again. The beginning of a line whose end has not come does.
  PerStream<std::uint64_t> taken() const;
  /// Puts something of the owner's into the next mark.
  void remember(std::string_view key, json::value value);
  /// The workload starts only now: it was in a queue. Call before anything is taken in.
  void start_now() { started_wall_ = WallTime(Nanos(time_now())); }
  /// When the workload started.
  WallTime started() const { return started_wall_; }

 private:
  struct Stream {
    LineSplitter lines;
    ProtocolParser parser;
    std::string kept;       ///< whole lines of ordinary text, to record
    std::string shown;      ///< ordinary text to show, the beginning of an unfinished line included
    std::size_t ahead = 0;  ///< bytes of the unfinished line that were shown already
    std::uint64_t fed = 0;  ///< bytes that came
  };

  void take_line(Stream& stream, OutputStream which, const SplitLine& line);
  void take_event_line(const SplitLine& line);
  void take_reading_line(const SplitLine& line);
  void keep_text(OutputStream which, const std::string& text);
  void take_event(const ProtocolParser& parser, std::string_view line);
  void take_problem(ProtocolParser::Outcome outcome, const ProtocolParser& parser);
  void take_text(std::string_view line);
  void take_metrics(std::string_view prefix, std::int64_t step, const json::object& body);
  void take_steps(const json::object& body);
  void take_hello(const json::object& body);
  void take_error(const json::object& body);
  void take_result(const json::object& body);
  void take_flag(Flag flag);
  void add_point(std::string_view name, std::int64_t step, std::int64_t time_ns, double value, int rank = 0);
  void leave_out(std::string_view name);
  std::int64_t time_now() const;
  /// The workload's own clock (seconds since it started) where an event has one, else when the event came.
  std::int64_t time_from(const json::value* t) const;
  void note(Result<void> written);
  void count_fed(Stream& stream, std::size_t bytes);
  json::object state() const;
  void restore_readings(const json::object& lines);
  void restore_series(const json::object& last);

  struct TransparentHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct Series {
    SeriesHandle handle = 0;
    std::string name;
    int rank = 0;
    double last = 0;
    double* result = nullptr;  ///< in the facts; null where a lower rank reports the same metric
  };
  /// The series of a metric; rank 0, and whoever does not say, have the one without a label. Null: one too many.
  Series* series_for(std::string_view name, int rank);
  Series* open_series(std::string_view name, std::string_view key, int rank);

  RunWriter& writer_;
  TextMetrics patterns_;
  RecorderOptions options_;
  const Clock& clock_;
  const SteadyTime began_;  ///< this recorder, which may not be the first
  const WallTime began_wall_;
  WallTime started_wall_;
  std::int64_t now_ns_ = 0;  ///< of the bytes being taken in
  TextSteps text_steps_;
  Stream out_, error_, events_;
  std::unordered_map<std::string, Series, TransparentHash, std::equal_to<>> series_;   ///< by name, and rank if not 0
  std::unordered_map<std::string, Series*, TransparentHash, std::equal_to<>> lowest_;  ///< by name: of the lowest rank
  std::string ranked_name_;
  Stream readings_;
  ReadingLineReader reading_lines_;
  std::optional<std::int64_t> clock_offset_ns_;  ///< of this clock to those of the nodes
  json::object lines_to_mark_;                   ///< that the next mark has to say
  RunFacts facts_;
  json::object remembered_;           ///< of the owner's, for marks
  json::object told_;                 ///< what the marks have said so far
  std::uint64_t fed_since_mark_ = 0;  ///< bytes of all streams
};

}  // namespace assay
