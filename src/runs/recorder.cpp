#include "runs/recorder.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "model/metric.h"
#include "redact/redact.h"
#include "runs/run_marks.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

/// A batched `steps` event may be long; anything longer is not a line that a program meant for us.
constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kLongestQuote = 300;
constexpr std::size_t kMostUnknownTypes = 20;
/// A group must fit into a frame (16 MiB). No byte of a stream becomes more than a few dozen of the journal.
constexpr std::uint64_t kMostUpToAMark = std::uint64_t{256} << 10;

/// Whether a new metric of that name may be taken beside those that there are.
bool is_usable(std::string_view name, std::size_t others) {
  return others < kMostMetrics && !name.empty() && name.size() <= kLongestMetricName;
}

std::string text_field(const json::object& body, std::string_view key) {
  const auto* value = body.if_contains(key);
  const auto* text = value ? value->if_string() : nullptr;
  return text ? redact(printable(*text)) : std::string();
}

std::optional<std::int64_t> integer_field(const json::object& body, std::string_view key) {
  const auto* value = body.if_contains(key);
  if (!value) return std::nullopt;
  json::error_code code;
  const auto number = value->to_number<std::int64_t>(code);
  if (code) return std::nullopt;
  return number;
}

/// The rank that an event is from; 0 unless it says another.
int rank_of(const json::object& body) {
  const auto rank = integer_field(body, "rank");
  return rank && *rank > 0 && *rank < 1'000'000 ? static_cast<int>(*rank) : 0;
}

/// What a `warning` event or an entry of a result's `flags` says. A flag without a kind could not be looked up.
Flag flag_in(const json::object& body) {
  const auto kind = text_field(body, "kind");
  return {kind.empty() ? "workload_warning" : kind, text_field(body, "about"), text_field(body, "message")};
}

}  // namespace

RunRecorder::RunRecorder(RunWriter& writer, TextMetrics patterns, RecorderOptions options, const Clock& clock)
    : writer_(writer),
      patterns_(std::move(patterns)),
      options_(options),
      clock_(clock),
      began_(clock.now()),
      began_wall_(clock.wall()),
      started_wall_(began_wall_),
      out_{.lines = LineSplitter(kLongestLine)},
      error_{.lines = LineSplitter(kLongestLine)},
      events_{.lines = LineSplitter(kLongestLine)},
      readings_{.lines = LineSplitter(kLongestLine)} {}

std::int64_t RunRecorder::time_now() const {
  return (began_wall_ + (clock_.now() - began_)).time_since_epoch().count();
}

std::string_view RunRecorder::add_output(OutputStream which, std::string_view bytes) {
  now_ns_ = time_now();
  Stream& stream = which == OutputStream::out ? out_ : error_;
  stream.kept.clear();
  stream.shown.clear();
  stream.lines.feed(bytes, [&](const SplitLine& line) { take_line(stream, which, line); });
  keep_text(which, stream.kept);
  // A prompt or a progress bar wants to be seen before its line ends; only what may become an event waits.
  const std::string_view unfinished = stream.lines.held();
  if (!unfinished.starts_with('{')) {
    stream.shown += unfinished.substr(std::min(stream.ahead, unfinished.size()));
    stream.ahead = unfinished.size();
  }
  count_fed(stream, bytes.size());
  return stream.shown;
}

void RunRecorder::count_fed(Stream& stream, std::size_t bytes) {
  stream.fed += bytes;
  fed_since_mark_ += bytes;
  if (options_.marks && fed_since_mark_ >= kMostUpToAMark) flush();
}

void RunRecorder::take_line(Stream& stream, OutputStream which, const SplitLine& line) {
  const std::size_t ahead = std::exchange(stream.ahead, 0);
  if (line.whole && which == OutputStream::out) {
    const auto outcome = stream.parser.parse(line.text, false);
    if (outcome == ProtocolParser::Outcome::event) return take_event(stream.parser, line.text);
    if (outcome != ProtocolParser::Outcome::not_protocol) take_problem(outcome, stream.parser);
  }
  stream.kept.append(line.text).append(line.end);
  stream.shown.append(line.text.substr(std::min(ahead, line.text.size()))).append(line.end);
  if (!line.whole) return;
  if (which == OutputStream::error && !trim(line.text).empty()) {
    facts_.last_error_line = redact(printable(line.text.substr(0, kLongestQuote)));
  }
  take_text(line.text);
}

void RunRecorder::take_text(std::string_view line) {
  const auto& found = patterns_.scan(line);
  text_steps_.see(found);
  for (const auto& doubt : found.doubts) facts_.doubtful.try_emplace(std::string(doubt.name), doubt.why);
  if (found.metrics.empty()) return;
  const std::int64_t step = text_steps_.step_of(found);
  const int rank = found.rank.value_or(0);
  for (const auto& metric : found.metrics) {
    const Series* series = series_for(metric.name, rank);
    if (!series) {
      leave_out(metric.name);
      continue;
    }
    auto& how = facts_.read[series->name];
    if (how.empty()) how = metric.how;
    // Until the next validation a progress bar repeats the figures of the last one.
    const bool validation = metric.name.starts_with("val_") || metric.name.starts_with("test_");
    if (found.bar && validation && series->last == metric.value) continue;
    add_point(metric.name, step, now_ns_, metric.value, rank);
  }
  facts_.last_step = step;
}

void RunRecorder::keep_text(OutputStream which, const std::string& text) {
  if (text.empty()) return;
  if (facts_.output_bytes >= static_cast<std::int64_t>(options_.output_limit)) {
    facts_.output_dropped += static_cast<std::int64_t>(text.size());
    return;
  }
  facts_.output_bytes += static_cast<std::int64_t>(text.size());
  note(writer_.append_output(which, WallTime(Nanos(now_ns_)), redact(text)));
}

void RunRecorder::add_events(std::string_view bytes) {
  now_ns_ = time_now();
  events_.lines.feed(bytes, [&](const SplitLine& line) { take_event_line(line); });
  count_fed(events_, bytes.size());
}

void RunRecorder::take_event_line(const SplitLine& line) {
  if (!line.whole || line.text.empty()) return;
  const auto outcome = events_.parser.parse(line.text, true);
  if (outcome == ProtocolParser::Outcome::event) return take_event(events_.parser, line.text);
  take_problem(outcome, events_.parser);
}

void RunRecorder::take_problem(ProtocolParser::Outcome outcome, const ProtocolParser& parser) {
  if (outcome == ProtocolParser::Outcome::newer) {
    ++facts_.newer;
  } else if (outcome == ProtocolParser::Outcome::malformed && facts_.malformed++ == 0) {
    facts_.first_malformed = parser.problem();
  }
}

void RunRecorder::take_event(const ProtocolParser& parser, std::string_view line) {
  ++facts_.events;
  const json::object& body = parser.body();
  // Steps are kept as points alone: they are the many. Everything else is kept as it came, too.
  switch (parser.type()) {
    case EventType::step:
      facts_.last_step = integer_field(body, "step").value_or(facts_.last_step.value_or(-1) + 1);
      return take_metrics("", *facts_.last_step, body);
    case EventType::steps: return take_steps(body);
    case EventType::eval:
      take_metrics("", integer_field(body, "step").value_or(facts_.last_step.value_or(0)), body);
      break;
    case EventType::epoch: take_metrics("epoch.", integer_field(body, "epoch").value_or(0), body); break;
    case EventType::sample: take_metrics("sample.", integer_field(body, "step").value_or(kNoStep), body); break;
    case EventType::hello: take_hello(body); break;
    case EventType::phase: facts_.phase = text_field(body, "name"); break;
    case EventType::warning: take_flag(flag_in(body)); break;
    case EventType::error: take_error(body); break;
    case EventType::result: take_result(body); break;
    case EventType::unknown: {
      const std::string type = text_field(body, "type");
      const bool listed = facts_.unknown_types.size() < kMostUnknownTypes || facts_.unknown_types.contains(type);
      ++(listed ? facts_.unknown_types[type] : facts_.unknown_left_out);
      break;
    }
  }
  note(writer_.append_event(WallTime(Nanos(now_ns_)), redact(line)));
}

void RunRecorder::take_hello(const json::object& body) {
  facts_.hello = json::object(body, json::storage_ptr());
  facts_.total_steps = integer_field(body, "total_steps");
}

void RunRecorder::take_error(const json::object& body) {
  if (facts_.error) return;
  facts_.error = RunError{.kind = error_kind_from(text_field(body, "kind")).value_or(ErrorKind::crash),
                          .message = text_field(body, "message"),
                          .hint = text_field(body, "hint")};
}

void RunRecorder::take_result(const json::object& body) {
  const auto* metrics = body.if_contains("metrics");
  const json::object& values = metrics && metrics->is_object() ? metrics->get_object() : body;
  for (const auto& member : values) {
    if (is_reserved_field(member.key())) continue;
    const auto value = metric_value(member.value());
    if (!value) continue;
    const std::string name(member.key());
    if (!facts_.results.contains(name) && !is_usable(name, facts_.results.size())) {
      leave_out(name);
      continue;
    }
    facts_.results[name] = *value;
  }
  const auto* flags = body.if_contains("flags");
  if (!flags || !flags->is_array()) return;
  for (const auto& item : flags->get_array()) {
    if (const auto* flag = item.if_object()) take_flag(flag_in(*flag));
  }
}

void RunRecorder::take_flag(Flag flag) {
  if (facts_.flags.size() < kMostWarnings) {
    facts_.flags.push_back(std::move(flag));
  } else {
    ++facts_.flags_left_out;
  }
}

std::int64_t RunRecorder::time_from(const json::value* t) const {
  const auto seconds = t ? metric_value(*t) : std::nullopt;
  if (!seconds || !(*seconds >= 0 && *seconds < 1e9)) return now_ns_;
  return started_wall_.time_since_epoch().count() + static_cast<std::int64_t>(*seconds * 1e9);
}

void RunRecorder::take_metrics(std::string_view prefix, std::int64_t step, const json::object& body) {
  const std::int64_t time = time_from(body.if_contains("t"));
  const int rank = rank_of(body);
  std::string prefixed(prefix);
  for (const auto& member : body) {
    const std::string_view name = member.key();
    if (is_reserved_field(name)) continue;
    const auto value = metric_value(member.value());
    if (!value) continue;
    if (prefix.empty()) {
      add_point(name, step, time, *value, rank);
    } else {
      prefixed.resize(prefix.size());
      prefixed += name;
      add_point(prefixed, step, time, *value, rank);
    }
  }
}

void RunRecorder::take_steps(const json::object& body) {
  const auto first = integer_field(body, "first").value_or(facts_.last_step.value_or(-1) + 1);
  const auto* times = body.if_contains("t");
  const auto* time_list = times ? times->if_array() : nullptr;
  const auto time_at = [&](std::size_t i) {
    return time_from(time_list && i < time_list->size() ? &(*time_list)[i] : nullptr);
  };
  const int rank = rank_of(body);
  std::size_t count = 0;
  for (const auto& member : body) {
    const auto* list = member.value().if_array();
    if (!list || is_reserved_field(member.key())) continue;
    count = std::max(count, list->size());
    for (std::size_t i = 0; i < list->size(); ++i) {
      const auto value = metric_value((*list)[i]);
      if (value) add_point(member.key(), first + static_cast<std::int64_t>(i), time_at(i), *value, rank);
    }
  }
  if (count == 0) return;
  facts_.last_step = first + static_cast<std::int64_t>(count) - 1;
  // Plain numbers describe the batch as a whole and stand at its last step.
  for (const auto& member : body) {
    if (is_reserved_field(member.key()) || member.value().is_array()) continue;
    if (const auto value = metric_value(member.value()))
      add_point(member.key(), *facts_.last_step, time_at(count - 1), *value, rank);
  }
}

RunRecorder::Series* RunRecorder::series_for(std::string_view name, int rank) {
  std::string_view key = name;
  if (rank != 0) {
    ranked_name_.assign(name).append(1, '\0').append(std::to_string(rank));
    key = ranked_name_;
  }
  const auto found = series_.find(key);
  return found == series_.end() ? open_series(name, key, rank) : &found->second;
}

RunRecorder::Series* RunRecorder::open_series(std::string_view name, std::string_view key, int rank) {
  if (!is_usable(name, series_.size())) return nullptr;
  // `best_val_accuracy` is in the unit of what it is the best of.
  const MetricInfo* info = find_metric(name.starts_with("best_") ? name.substr(5) : name);
  SeriesKey stored{.name = printable(name), .labels = {}};
  if (rank != 0) stored.labels["rank"] = std::to_string(rank);
  Series opened{.handle = writer_.open_series(stored, info ? info->unit : ""),
                .name = std::string(name),
                .rank = rank,
                .last = std::nan("")};
  Series& series = series_.emplace(std::string(key), std::move(opened)).first->second;
  Series*& lowest = lowest_[series.name];
  if (!lowest || series.rank < lowest->rank) {
    if (lowest) lowest->result = nullptr;
    series.result = &facts_.last[series.name];
    lowest = &series;
  }
  return &series;
}

void RunRecorder::add_point(std::string_view name, std::int64_t step, std::int64_t time_ns, double value, int rank) {
  Series* series = series_for(name, rank);
  if (!series) return leave_out(name);
  series->last = value;
  if (series->result) *series->result = value;
  if (!std::isfinite(value)) ++facts_.non_finite[series->name];
  const SeriesPoint point{.time_ns = time_ns, .step = step, .value = value};
  note(writer_.append_points(series->handle, {&point, 1}));
}

void RunRecorder::leave_out(std::string_view name) {
  if (facts_.values_left_out++ == 0) facts_.first_left_out = redact(printable(name.substr(0, kLongestMetricName)));
}

void RunRecorder::add_reading(const Reading& reading) {
  const std::int64_t time = time_now();
  for (const auto& sample : reading.samples) {
    const SeriesPoint point{.time_ns = time, .step = kNoStep, .value = sample.value};
    note(writer_.append_points(writer_.open_series(sample.key, sample.unit), {&point, 1}));
  }
}

void RunRecorder::add_readings(std::string_view bytes) {
  readings_.lines.feed(bytes, [&](const SplitLine& line) { take_reading_line(line); });
  count_fed(readings_, bytes.size());
}

void RunRecorder::take_reading_line(const SplitLine& line) {
  if (!line.whole || line.text.empty()) return;
  // One that cannot be used is the rest of a piece that was lost on the way; what it stands for comes again.
  const auto news = reading_lines_.take(line.text);
  if (!news) return;
  if (!news->keep_as.empty() && options_.marks) lines_to_mark_[news->keep_as] = line.text;
  facts_.nodes_measured = static_cast<std::int64_t>(reading_lines_.nodes());
  if (!clock_offset_ns_) {
    clock_offset_ns_ = (started_wall_ - news->node->began).count();
  }
  if (!news->source.empty()) {
    auto& why = facts_.silent_sources[news->node->of > 1 ? fmt::format("{} of {}", news->source, news->node->host)
                                                         : news->source];
    why = redact(printable(news->silent));
  }
  const std::int64_t time = news->time.time_since_epoch().count() + *clock_offset_ns_;
  for (const auto& sample : news->samples) {
    const SeriesPoint point{.time_ns = time, .step = kNoStep, .value = sample.value};
    note(writer_.append_points(writer_.open_series(sample.key, sample.unit), {&point, 1}));
  }
}

void RunRecorder::flush() {
  if (!options_.marks) return note(writer_.flush());
  json::object now = state();
  json::object changes = changes_since(told_, now);
  // Not kept in the state: there may be thousands, and nothing of them ever changes.
  if (!lines_to_mark_.empty()) changes["reading_lines"] = std::exchange(lines_to_mark_, {});
  note(writer_.mark(json::serialize(changes)));
  told_ = std::move(now);
  fed_since_mark_ = 0;
}

void RunRecorder::close() {
  for (auto [stream, which] : {std::pair(&out_, OutputStream::out), std::pair(&error_, OutputStream::error)}) {
    stream->kept.clear();
    stream->lines.finish([&, open = stream, kind = which](const SplitLine& line) { take_line(*open, kind, line); });
    keep_text(which, stream->kept);
  }
  events_.lines.finish([&](const SplitLine& line) { take_event_line(line); });
  readings_.lines.finish([&](const SplitLine& line) { take_reading_line(line); });
  facts_.over_long_lines =
      out_.lines.over_long_lines() + error_.lines.over_long_lines() + events_.lines.over_long_lines();
  flush();
}

void RunRecorder::note(Result<void> written) {
  if (!written && !facts_.recording_error) facts_.recording_error = std::move(written).error();
}

}  // namespace assay
