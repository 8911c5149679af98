#include <charconv>

#include "launch/job_stream.h"
#include "runs/recorder.h"
#include "telemetry/reading.h"

// What a recorder remembers, as JSON for the marks of a journal (runs/run_marks.h). Left out is what only shows the run
// while it happens, and lines whose end has not come: their bytes come again.

namespace assay {
namespace {

std::int64_t nanos(WallTime time) { return time.time_since_epoch().count(); }
WallTime wall_from(std::int64_t nanos) { return WallTime(Nanos(nanos)); }

template <typename Count>
std::map<std::string, Count> numbers_in(const json::object& object) {
  std::map<std::string, Count> numbers;
  for (const auto& member : object) {
    if (const auto value = metric_value(member.value())) numbers[member.key()] = static_cast<Count>(*value);
  }
  return numbers;
}

json::object state_of(const std::map<std::string, double>& values) {
  json::object object;
  for (const auto& [name, value] : values) object[name] = finite(value);
  return object;
}

/// All but the last values, which the recorder keeps by series, and what is known at the end alone.
json::object state_of(const RunFacts& facts) {
  json::object state{{"results", state_of(facts.results)},
                     {"non_finite", json::value_from(facts.non_finite)},
                     {"phase", facts.phase},
                     {"last_error_line", facts.last_error_line},
                     {"read", json::value_from(facts.read)},
                     {"doubtful", json::value_from(facts.doubtful)},
                     {"events", facts.events},
                     {"malformed", facts.malformed},
                     {"first_malformed", facts.first_malformed},
                     {"newer", facts.newer},
                     {"unknown_types", json::value_from(facts.unknown_types)},
                     {"unknown_left_out", facts.unknown_left_out},
                     {"flags_left_out", facts.flags_left_out},
                     {"values_left_out", facts.values_left_out},
                     {"first_left_out", facts.first_left_out},
                     {"output_bytes", facts.output_bytes},
                     {"output_dropped", facts.output_dropped},
                     {"silent_sources", json::value_from(facts.silent_sources)}};
  // As text: a later greeting replaces an earlier one as a whole.
  if (!facts.hello.empty()) state["hello"] = json::serialize(facts.hello);
  if (facts.error) state["error"] = to_json(*facts.error);
  if (facts.last_step) state["last_step"] = *facts.last_step;
  if (facts.total_steps) state["total_steps"] = *facts.total_steps;
  json::array flags, gaps;
  for (const auto& flag : facts.flags) flags.push_back(to_json(flag));
  for (const auto& gap : facts.gaps) gaps.push_back(json::array{nanos(gap.from), nanos(gap.to)});
  state["flags"] = std::move(flags);
  state["gaps"] = std::move(gaps);
  return state;
}

Result<void> restore_facts(RunFacts& facts, JsonFields& fields) {
  facts.results = numbers_in<double>(fields.object_or_empty("results"));
  facts.non_finite = numbers_in<std::int64_t>(fields.object_or_empty("non_finite"));
  facts.phase = fields.text_or("phase", "");
  facts.last_error_line = fields.text_or("last_error_line", "");
  facts.read = fields.text_map_or_empty("read");
  facts.doubtful = fields.text_map_or_empty("doubtful");
  facts.events = fields.integer_or("events", 0);
  facts.malformed = fields.integer_or("malformed", 0);
  facts.first_malformed = fields.text_or("first_malformed", "");
  facts.newer = fields.integer_or("newer", 0);
  facts.unknown_types = numbers_in<std::int64_t>(fields.object_or_empty("unknown_types"));
  facts.unknown_left_out = fields.integer_or("unknown_left_out", 0);
  facts.flags_left_out = fields.integer_or("flags_left_out", 0);
  facts.values_left_out = fields.integer_or("values_left_out", 0);
  facts.first_left_out = fields.text_or("first_left_out", "");
  facts.output_bytes = fields.integer_or("output_bytes", 0);
  facts.output_dropped = fields.integer_or("output_dropped", 0);
  facts.silent_sources = fields.text_map_or_empty("silent_sources");
  if (fields.find("last_step")) facts.last_step = fields.integer("last_step");
  if (fields.find("total_steps")) facts.total_steps = fields.integer("total_steps");
  for (const auto& flag : fields.array_or_empty("flags")) facts.flags.push_back(flag_from_json(flag, fields));
  for (const auto& gap : fields.array_or_empty("gaps")) {
    const auto* ends = gap.if_array();
    if (!ends || ends->size() != 2 || !(*ends)[0].is_int64() || !(*ends)[1].is_int64()) {
      fields.fail("gaps", "must hold pairs of times");
      break;
    }
    facts.gaps.push_back({wall_from((*ends)[0].get_int64()), wall_from((*ends)[1].get_int64())});
  }
  if (const auto* error = fields.find("error")) {
    JsonFields inner(*error, "error");
    facts.error = RunError{.kind = error_kind_from(inner.text("kind")).value_or(ErrorKind::crash),
                           .message = inner.text_or("message", ""),
                           .hint = inner.text_or("hint", "")};
    ASSAY_CHECK(inner.finish());
  }
  if (const auto hello = fields.text_or("hello", ""); !hello.empty()) {
    ASSAY_TRY(const auto greeting, parse_json(hello));
    if (greeting.is_object()) facts.hello = greeting.get_object();
  }
  return {};
}

}  // namespace

PerStream<std::uint64_t> RunRecorder::taken() const {
  PerStream<std::uint64_t> taken;
  taken[JobStream::out] = out_.fed - out_.lines.held().size();
  taken[JobStream::error] = error_.fed - error_.lines.held().size();
  taken[JobStream::events] = events_.fed - events_.lines.held().size();
  taken[JobStream::readings] = readings_.fed - readings_.lines.held().size();
  return taken;
}

void RunRecorder::remember(std::string_view key, json::value value) {
  remembered_.insert_or_assign(key, std::move(value));
}

json::object RunRecorder::state() const {
  json::object state = state_of(facts_);
  for (const auto& member : remembered_) state[member.key()] = member.value();
  state["started"] = nanos(started_wall_);
  state["at"] = time_now();
  state["taken"] = json::value_from(taken().values);
  json::array cut, over_long;
  for (const Stream* stream : {&out_, &error_, &events_, &readings_}) {
    cut.emplace_back(stream->lines.is_cut());
    over_long.emplace_back(stream->lines.over_long_lines());
  }
  state["cut"] = std::move(cut);
  state["over_long"] = std::move(over_long);
  if (clock_offset_ns_) state["clock_offset"] = *clock_offset_ns_;
  state["text_metrics"] = patterns_.state();
  state["text_steps"] = text_steps_.state();
  json::object last;
  for (const auto& [key, series] : series_) {
    // Of further ranks only progress bars need it; that there is such a series is enough.
    const bool needed = series.result || series.name.starts_with("val_") || series.name.starts_with("test_");
    last[key] = needed ? finite(series.last) : json::value(nullptr);
  }
  state["last"] = std::move(last);
  return state;
}

Result<void> RunRecorder::restore(const json::object& state) {
  const json::value whole(state);
  JsonFields fields(whole, "the marks of the journal");
  ASSAY_CHECK(restore_facts(facts_, fields));
  started_wall_ = wall_from(fields.integer_or("started", nanos(started_wall_)));
  if (fields.find("at")) facts_.gaps.push_back({wall_from(fields.integer("at")), began_wall_});
  const auto& taken = fields.array_or_empty("taken");
  const auto& cut = fields.array_or_empty("cut");
  const auto& over_long = fields.array_or_empty("over_long");
  std::size_t i = 0;
  for (Stream* stream : {&out_, &error_, &events_, &readings_}) {
    json::error_code code;
    if (i < taken.size()) stream->fed = taken[i].to_number<std::uint64_t>(code);
    if (i < cut.size() && i < over_long.size()) {
      stream->lines.go_on(cut[i] == true, over_long[i].to_number<std::int64_t>(code));
    }
    if (code) fields.fail("taken", "must hold numbers");
    ++i;
  }
  patterns_.restore(fields.object_or_empty("text_metrics"));
  text_steps_.restore(fields.object_or_empty("text_steps"));
  if (fields.find("clock_offset")) clock_offset_ns_ = fields.integer("clock_offset");
  restore_readings(fields.object_or_empty("reading_lines"));
  restore_series(fields.object_or_empty("last"));
  ASSAY_CHECK(fields.finish());
  told_ = state;
  return {};
}

void RunRecorder::restore_readings(const json::object& lines) {
  for (const auto& member : lines) {
    if (const auto* line = member.value().if_string()) (void)reading_lines_.take(*line);
  }
  facts_.nodes_measured = static_cast<std::int64_t>(reading_lines_.nodes());
}

void RunRecorder::restore_series(const json::object& last) {
  for (const auto& member : last) {
    const std::string_view key = member.key();
    const std::string_view name = key.substr(0, key.find('\0'));
    int rank = 0;
    if (name.size() < key.size()) std::from_chars(key.data() + name.size() + 1, key.data() + key.size(), rank);
    Series* series = open_series(name, key, rank);
    if (!series) continue;
    series->last = metric_value(member.value()).value_or(std::nan(""));
    if (series->result) *series->result = series->last;
  }
}

}  // namespace assay
