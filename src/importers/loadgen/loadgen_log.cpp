#include "importers/loadgen/loadgen_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "exchange/encoding.h"
#include "exchange/exact_json.h"
#include "importers/text/figure.h"

namespace assay {
namespace {

constexpr std::size_t kSniffedOfLoadgen = std::size_t{16} << 10;
constexpr std::size_t kMostMessages = 20;
constexpr std::size_t kMostParameters = 200;
constexpr std::size_t kLongestText = 500;
constexpr std::string_view kPrefix = ":::MLLOG ";

std::string short_text(std::string_view text) { return printable(trim(text).substr(0, kLongestText)); }

std::optional<std::int64_t> whole_count(const std::optional<double>& number) {
  if (!number || !(std::abs(*number) <= 9007199254740992.0) || *number != std::trunc(*number)) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

void note(std::vector<std::string>& messages, std::int64_t& count, std::string_view message) {
  ++count;
  if (messages.size() < kMostMessages) messages.push_back(short_text(message));
}

/// `99.90` in front of ` percentile latency (ns)`, `90` in front of `th percentile …`.
std::optional<double> percentile_before(std::string_view key, std::string_view ending) {
  if (!key.ends_with(ending)) return std::nullopt;
  std::string_view number = key.substr(0, key.size() - ending.size());
  if (number.ends_with("th")) number.remove_suffix(2);
  const auto value = sole_number(number);
  return value && value->value >= 0 && value->value <= 100 ? std::optional(value->value) : std::nullopt;
}

/// Takes `key` as one of the figures of a distribution whose lines are worded like `what`.
bool take_latency(LatencyFigures& figures, std::string_view key, std::string_view what, std::optional<double> value) {
  const std::string name(what);
  if (key == "Min " + name) {
    figures.min = value;
  } else if (key == "Max " + name) {
    figures.max = value;
  } else if (key == "Mean " + name) {
    figures.mean = value;
  } else {
    return false;
  }
  return true;
}

class SummaryReader {
 public:
  explicit SummaryReader(LoadgenResult& result) : result_(result) {}

  void take(std::string_view line) {
    const std::string_view text = trim(line);
    if (text == "Test Parameters Used") in_parameters_ = true;
    if (text.starts_with("* ") && !in_parameters_) return take_recommendation(text.substr(2));
    if (text.ends_with("encountered during test.") ||
        text.find(" encountered. See detailed log") != std::string_view::npos)
      return take_trailer(text);
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view key = trim(text.substr(0, colon));
    const std::string_view value = trim(text.substr(colon + 1));
    known_ += in_parameters_ ? take_parameter(key, value) : take_figure(key, value);
  }

  bool anything() const { return known_ > 0 || trailers_ > 0; }
  /// The trailer has a line about warnings and one about errors; what comes before is whole if both are there.
  bool whole() const { return trailers_ >= 2; }

 private:
  static std::optional<bool> answer(std::string_view value) {
    if (value == "Yes") return true;
    if (value == "NO" || value == "No") return false;
    return std::nullopt;
  }

  bool take_figure(std::string_view key, std::string_view value) {
    const auto stated = sole_number(value);
    const auto number = stated ? std::optional(stated->value) : std::nullopt;
    return take_verdict(key, value) || take_rate(key, number) || take_latencies(key, number);
  }

  bool take_verdict(std::string_view key, std::string_view value) {
    if (key == "SUT name") {
      result_.sut_name = short_text(value);
    } else if (key == "Scenario") {
      result_.scenario = short_text(value);
    } else if (key == "Mode") {
      result_.mode = short_text(value);
    } else if (key == "Result is") {
      if (value == "VALID") result_.validity = LoadgenValidity::valid;
      if (value == "INVALID") result_.validity = LoadgenValidity::invalid;
    } else if (key == "Performance constraints satisfied") {
      result_.constraints_met = answer(value);
    } else if (key == "Min duration satisfied") {
      result_.min_duration_met = answer(value);
    } else if (key == "Min queries satisfied") {
      result_.min_queries_met = answer(value);
    } else if (key == "Early stopping satisfied") {
      result_.early_stopping_met = answer(value);
    } else {
      return false;
    }
    return true;
  }

  bool take_rate(std::string_view key, std::optional<double> number) {
    if (key == "Samples per second" || key == "QPS w/ loadgen overhead") {
      result_.samples_per_second = number;
    } else if (key == "Completed samples per second") {
      result_.completed_samples_per_second = number;
    } else if (key == "Scheduled samples per second") {
      result_.scheduled_samples_per_second = number;
    } else if (key == "Tokens per second" || key == "Completed tokens per second" || key == "TPS w/ loadgen overhead") {
      result_.tokens_per_second = number;
    } else {
      return false;
    }
    return true;
  }

  bool take_latencies(std::string_view key, std::optional<double> number) {
    if (take_latency(result_.latency, key, "latency (ns)", number) ||
        take_latency(result_.first_token, key, "First Token latency (ns)", number) ||
        take_latency(result_.per_output_token, key, "Time to Output Token (ns)", number)) {
      return true;
    }
    if (!number) return false;
    if (const auto p = percentile_before(key, " percentile first token latency (ns)")) {
      result_.first_token.percentiles[*p] = *number;
    } else if (const auto headline = percentile_before(key, " first token percentile latency (ns)")) {
      result_.first_token.percentiles[*headline] = *number;
    } else if (const auto tpot = percentile_before(key, " percentile time to output token (ns)")) {
      result_.per_output_token.percentiles[*tpot] = *number;
    } else if (const auto latency = percentile_before(key, " percentile latency (ns)")) {
      result_.latency.percentiles[*latency] = *number;
    } else {
      return false;
    }
    return true;
  }

  bool take_parameter(std::string_view key, std::string_view value) {
    const auto stated = sole_number(value);
    const auto number = stated ? std::optional(stated->value) : std::nullopt;
    if (key == "target_qps") result_.target_qps = number;
    if (key == "target_latency (ns)") result_.target_latency_ns = number;
    if (key == "ttft_latency (ns)") result_.target_first_token_ns = number;
    if (key == "tpot_latency (ns)") result_.target_per_output_token_ns = number;
    if (key == "min_duration (ms)") result_.min_duration_ms = number;
    if (key == "max_duration (ms)") result_.max_duration_ms = number;
    if (key == "min_query_count") result_.min_queries = whole_count(number);
    if (key == "samples_per_query") result_.samples_per_query = whole_count(number);
    if (key == "performance_sample_count") result_.data_set_samples = whole_count(number);
    if (result_.parameters.size() >= kMostParameters) return false;
    result_.parameters.emplace(short_text(key), short_text(value));
    return true;
  }

  void take_recommendation(std::string_view text) {
    constexpr std::string_view kEstimate = "percentile estimate: ";
    if (const auto at = text.find(kEstimate); at != std::string_view::npos) {
      if (const auto value = sole_number(text.substr(at + kEstimate.size())))
        result_.early_stopping_latency_ns = value->value;
    }
    if (text != "Run successful." && result_.recommendations.size() < kMostMessages)
      result_.recommendations.push_back(short_text(text));
  }

  void take_trailer(std::string_view text) {
    ++trailers_;
    std::size_t used = 0;
    const auto count = count_at(text, used);
    if (!count) return;
    (lower_case(text).find("error") != std::string::npos ? result_.error_count : result_.warning_count) = *count;
  }

  LoadgenResult& result_;
  bool in_parameters_ = false;
  int known_ = 0;
  int trailers_ = 0;
};

/// One `:::MLLOG` entry.
class DetailReader {
 public:
  explicit DetailReader(LoadgenResult& result) : result_(result) {}

  void take(std::string_view key, const json::value& value) {
    if (const auto* text = value.if_string()) return take_text(key, *text);
    if (value.is_bool()) return take_bool(key, value.get_bool());
    if (!value.is_number()) return;
    const double number = value.to_number<double>();
    if (!std::isfinite(number)) return;
    if (!take_setting(key, number) && !take_result(key, number)) take_latency_entry(key, number);
  }

 private:
  void take_text(std::string_view key, std::string_view text) {
    if (key == "effective_scenario") result_.scenario = short_text(text);
    if (key == "effective_test_mode") result_.mode = short_text(text);
    if (key == "sut_name") result_.sut_name = short_text(text);
    if (key == "loadgen_version") result_.version = short_text(text);
    if (key == "test_datetime") result_.time = short_text(text);
    if (key == "result_validity") {
      if (text == "VALID") result_.validity = LoadgenValidity::valid;
      if (text == "INVALID") result_.validity = LoadgenValidity::invalid;
    }
    if (key == "result_invalid_reason") result_.recommendations.push_back(short_text(text));
  }

  void take_bool(std::string_view key, bool value) {
    if (key == "result_perf_constraints_met") result_.constraints_met = value;
    if (key == "result_min_duration_met") result_.min_duration_met = value;
    if (key == "result_min_queries_met") result_.min_queries_met = value;
    if (key == "early_stopping_met") result_.early_stopping_met = value;
  }

  bool take_setting(std::string_view key, double number) {
    if (!key.starts_with("effective_") && !key.starts_with("generated_") && !key.starts_with("requested_"))
      return false;
    if (key == "effective_target_qps") result_.target_qps = number;
    if (key == "effective_target_latency_ns") result_.target_latency_ns = number;
    if (key == "effective_target_latency_percentile") result_.target_percentile = 100 * number;
    if (key == "requested_server_ttft_latency") result_.target_first_token_ns = number;
    if (key == "requested_server_tpot_latency") result_.target_per_output_token_ns = number;
    if (key == "effective_min_duration_ms") result_.min_duration_ms = number;
    if (key == "effective_max_duration_ms") result_.max_duration_ms = number;
    if (key == "effective_min_query_count") result_.min_queries = whole_count(number);
    if (key == "effective_samples_per_query") result_.samples_per_query = whole_count(number);
    if (key == "effective_performance_sample_count") result_.data_set_samples = whole_count(number);
    if (key == "generated_query_count") result_.generated_queries = whole_count(number);
    return true;
  }

  bool take_result(std::string_view key, double number) {
    if (key == "result_query_count") {
      result_.queries = whole_count(number);
    } else if (key == "result_overlatency_query_count") {
      result_.over_latency_queries = whole_count(number);
    } else if (key == "result_samples_per_second" || key == "result_qps_with_loadgen_overhead") {
      result_.samples_per_second = number;
    } else if (key == "result_completed_samples_per_sec") {
      result_.completed_samples_per_second = number;
    } else if (key == "result_scheduled_samples_per_sec") {
      result_.scheduled_samples_per_second = number;
    } else if (key == "result_tokens_per_second" || key == "result_completed_tokens_per_second" ||
               key == "result_token_throughput_with_loadgen_overhead") {
      result_.tokens_per_second = number;
    } else if (key == "early_stopping_latency_ss") {
      if (number > 0) result_.early_stopping_latency_ns = number;
    } else if (key == "early_stopping_latency_ms") {
      // Of a SingleStream run it is what multi-stream would have, where there were enough queries to tell.
      if (number > 0 && result_.scenario != "SingleStream") result_.early_stopping_latency_ns = number;
    } else {
      return false;
    }
    return true;
  }

  void take_latency_entry(std::string_view key, double number) {
    if (!key.starts_with("result_")) return;
    key.remove_prefix(7);
    if (take_query_latency(key, number)) return;
    const auto named = [&](LatencyFigures& figures, std::string_view min, std::string_view max, std::string_view mean) {
      if (key == min) figures.min = number;
      if (key == max) figures.max = number;
      if (key == mean) figures.mean = number;
    };
    named(result_.latency, "min_latency_ns", "max_latency_ns", "mean_latency_ns");
    named(result_.first_token, "first_token_min_latency_ns", "first_token_max_latency_ns",
          "first_token_mean_latency_ns");
    named(result_.per_output_token, "time_to_output_token_min", "time_to_output_token_max",
          "time_to_output_token_mean");
    LatencyFigures* figures = &result_.latency;
    std::string_view ending = "_percentile_latency_ns";
    if (key.starts_with("first_token_")) {
      key.remove_prefix(12);
      figures = &result_.first_token;
    } else if (key.starts_with("time_per_output_token_")) {
      key.remove_prefix(22);
      figures = &result_.per_output_token;
      ending = "_percentile_ns";
    }
    if (const auto percentile = percentile_before(key, ending)) figures->percentiles[*percentile] = number;
  }

  /// MultiStream runs have the latencies of queries first, then those of samples, which are not what is judged.
  bool take_query_latency(std::string_view key, double number) {
    LatencyFigures& figures = result_.latency;
    if (key == "min_query_latency_ns") {
      figures.min = number;
    } else if (key == "max_query_latency_ns") {
      figures.max = number;
    } else if (key == "mean_query_latency_ns") {
      figures.mean = number;
    } else if (const auto percentile = percentile_before(key, "_percentile_per_query_latency_ns")) {
      figures.percentiles[*percentile] = number;
    } else {
      return of_queries_ && key.ends_with("_latency_ns") && !key.starts_with("first_token_");
    }
    of_queries_ = true;
    return true;
  }

  LoadgenResult& result_;
  bool of_queries_ = false;
};

/// The key of an entry, without reading the rest of it. Some entries list millions of samples.
std::string_view key_of(std::string_view entry) {
  constexpr std::string_view kOpening = "{\"key\": \"";
  if (!entry.starts_with(kOpening)) return {};
  entry.remove_prefix(kOpening.size());
  return entry.substr(0, entry.find('"'));
}

bool wanted(std::string_view entry) {
  const std::string_view key = key_of(entry);
  for (const std::string_view start : {"result_", "effective_", "requested_server_t", "generated_query",
                                       "early_stopping", "loadgen_version", "test_datetime", "sut_name"}) {
    if (key.starts_with(start)) return true;
  }
  return entry.find("\"is_error\": true") != std::string_view::npos ||
         entry.find("\"is_warning\": true") != std::string_view::npos;
}

void take_entry(const json::value& entry, LoadgenResult& result, DetailReader& reader) {
  const auto* object = entry.if_object();
  const auto* key = object ? object->if_contains("key") : nullptr;
  const auto* value = object ? object->if_contains("value") : nullptr;
  if (!key || !key->is_string() || !value) return;
  reader.take(key->get_string(), *value);
  const auto* metadata = object->if_contains("metadata");
  if (!metadata || !metadata->is_object()) return;
  const auto is = [&](std::string_view what) {
    const auto* flag = metadata->get_object().if_contains(what);
    return flag && flag->is_bool() && flag->get_bool();
  };
  const std::string message = fmt::format("{}: {}", std::string_view(key->get_string()), json::serialize(*value));
  if (is("is_error")) note(result.errors, result.error_count, message);
  if (is("is_warning")) note(result.warnings, result.warning_count, message);
}

Error foreign(std::string_view name, std::string_view what) {
  return Error{.kind = ErrorKind::bad_file,
               .message = fmt::format("'{}' is not {} of LoadGen", name, what),
               .at = std::string(name)};
}

}  // namespace

LoadgenFile loadgen_file_kind(std::string_view text, std::string_view name) {
  const std::string_view head = text.substr(0, kSniffedOfLoadgen);
  if (head.find(kPrefix) != std::string_view::npos) return LoadgenFile::detail;
  if (head.find("MLPerf Results Summary") != std::string_view::npos ||
      head.find("encountered during test.") != std::string_view::npos)
    return LoadgenFile::summary;
  if (trim(head).starts_with('[') && head.find("\"qsl_idx\"") != std::string_view::npos) return LoadgenFile::accuracy;
  if (name.ends_with("mlperf_log_summary.txt")) return LoadgenFile::summary;
  if (name.ends_with("mlperf_log_detail.txt")) return LoadgenFile::detail;
  if (name.ends_with("mlperf_log_accuracy.json")) return LoadgenFile::accuracy;
  return LoadgenFile::unknown;
}

std::string_view name_of(LoadgenValidity validity) {
  switch (validity) {
    case LoadgenValidity::unknown: return "unknown";
    case LoadgenValidity::valid: return "VALID";
    case LoadgenValidity::invalid: return "INVALID";
  }
  return "";
}

Result<LoadgenResult> parse_loadgen_summary(std::string_view bytes, std::string_view name) {
  ASSAY_TRY(auto looked, look_at_bytes(bytes, name));
  LoadgenResult result;
  result.flags = std::move(looked.flags);
  result.has_summary = true;
  SummaryReader reader(result);
  std::string_view rest = looked.text;
  while (!rest.empty()) {
    const std::size_t newline = rest.find('\n');
    // A line without its end may have lost digits.
    if (newline == std::string_view::npos && !trim(rest).ends_with("during test.")) break;
    reader.take(rest.substr(0, newline));
    rest.remove_prefix(std::min(newline, rest.size() - 1) + 1);
  }
  if (!reader.anything()) return foreign(name, "a summary");
  result.cut = !reader.whole();
  return result;
}

Result<LoadgenResult> parse_loadgen_detail(std::string_view bytes, std::string_view name) {
  ASSAY_TRY(auto looked, look_at_bytes(bytes, name));
  LoadgenResult result;
  result.flags = std::move(looked.flags);
  result.has_detail = true;
  DetailReader reader(result);
  std::int64_t entries = 0;
  std::string_view rest = looked.text;
  while (!rest.empty()) {
    const std::size_t newline = rest.find('\n');
    std::string_view line = trim(rest.substr(0, newline));
    rest.remove_prefix(std::min(newline, rest.size() - 1) + 1);
    const bool last = newline == std::string_view::npos;
    if (!line.starts_with(kPrefix)) {
      result.cut |= last && !line.empty();
      continue;
    }
    ++entries;
    line.remove_prefix(kPrefix.size());
    if (!wanted(line) && !last) continue;
    const auto entry = parse_exact_json(line);
    // LoadGen closes every entry; one that is open was cut.
    if (entry) {
      take_entry(entry->value, result, reader);
    } else {
      result.cut = true;
    }
  }
  if (entries == 0) return foreign(name, "a detail log");
  return result;
}

}  // namespace assay
