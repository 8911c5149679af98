#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/text.h"
#include "importers/loadgen/loadgen_log.h"
#include "importers/text/figure.h"

namespace assay {
namespace {

/// The summary prints rates with two decimals, the detail log with all.
constexpr double kPrinted = 0.0051;

std::string milliseconds(double nanoseconds) { return fmt::format("{} ms", plain_figure(nanoseconds / 1e6)); }

std::string about(const LoadgenResult& result) {
  return result.folder.empty() ? (result.scenario.empty() ? "LoadGen" : result.scenario) : result.folder;
}

class LoadgenChecks {
 public:
  explicit LoadgenChecks(const LoadgenResult& result) : result_(result) {}

  std::vector<Flag> run() {
    flags_ = result_.flags;
    if (result_.cut) flag("cut_file", "a file ends before its end; what may be cut is not used");
    if (result_.error_count > 0) {
      flag("loadgen_errors", fmt::format("LoadGen reported {} errors{}", result_.error_count,
                                         result_.errors.empty() ? "" : ", first " + result_.errors.front()));
    }
    verdict();
    order("latency", result_.latency);
    order("first-token latency", result_.first_token);
    order("time per output token", result_.per_output_token);
    constraints();
    durations();
    rates();
    return std::move(flags_);
  }

 private:
  void flag(std::string_view kind, std::string message) {
    flags_.push_back({std::string(kind), about(result_), std::move(message)});
  }
  void contradiction(std::string_view states, std::string_view but) {
    flag("contradiction", fmt::format("states {}, but {}", states, but));
  }

  std::vector<std::string> unmet() const {
    std::vector<std::string> conditions;
    if (result_.constraints_met == false) conditions.emplace_back("latency constraint");
    if (result_.min_duration_met == false) conditions.emplace_back("minimum duration");
    if (result_.min_queries_met == false) conditions.emplace_back("minimum queries");
    if (result_.early_stopping_met == false) conditions.emplace_back("early stopping");
    return conditions;
  }

  void verdict() {
    const auto conditions = unmet();
    if (result_.validity == LoadgenValidity::valid && !conditions.empty()) {
      contradiction("VALID", fmt::format("not satisfied: {}", join(conditions, ", ")));
    }
    if (result_.validity == LoadgenValidity::invalid) {
      std::string reason = conditions.empty() ? "" : "not satisfied: " + join(conditions, ", ");
      if (!result_.recommendations.empty()) {
        reason += fmt::format("{}LoadGen says: {}", reason.empty() ? "" : "; ", join(result_.recommendations, " "));
      }
      flag("invalid_result", reason.empty() ? "LoadGen calls the result INVALID and gives no reason" : reason);
    }
    if (result_.validity != LoadgenValidity::unknown || result_.cut) return;
    if (!result_.has_summary && !result_.has_detail) {
      flag("no_performance", "there is only an accuracy log, which is not read");
    } else if (result_.mode == "AccuracyOnly") {
      flag("no_performance", "an accuracy run has no performance figures");
    } else {
      flag("no_verdict", "LoadGen says neither VALID nor INVALID");
    }
  }

  void order(std::string_view what, const LatencyFigures& figures) {
    double previous = figures.min.value_or(0);
    std::string name = "minimum";
    for (const auto& [percentile, value] : figures.percentiles) {
      if (value < previous) {
        contradiction(fmt::format("a {}th percentile {} of {}", plain_figure(percentile), what, milliseconds(value)),
                      fmt::format("the {} is {}", name, milliseconds(previous)));
      }
      previous = value;
      name = fmt::format("{}th percentile", plain_figure(percentile));
    }
    if (figures.max && previous > *figures.max) {
      contradiction(fmt::format("a maximum {} of {}", what, milliseconds(*figures.max)),
                    fmt::format("the {} is {}", name, milliseconds(previous)));
    }
    const bool mean_outside = figures.mean && ((figures.min && *figures.mean < *figures.min) ||
                                               (figures.max && *figures.mean > *figures.max));
    if (mean_outside) {
      contradiction(fmt::format("a mean {} of {}", what, milliseconds(*figures.mean)),
                    "that is not between its extremes");
    }
  }

  /// LoadGen's verdict on the limits against the percentiles beside it.
  void constraints() {
    if (result_.scenario != "Server" || !result_.constraints_met) return;
    const double percentile = result_.target_percentile.value_or(99);
    const bool tokens = result_.target_first_token_ns.value_or(0) > 0 && !result_.first_token.percentiles.empty();
    std::vector<std::string> missed;
    bool compared = false;
    const auto compare = [&](std::string_view what, const LatencyFigures& figures, std::optional<double> limit) {
      const auto at = std::find_if(figures.percentiles.begin(), figures.percentiles.end(),
                                   [&](const auto& one) { return std::abs(one.first - percentile) < 1e-6; });
      if (!limit || !(*limit > 0) || at == figures.percentiles.end()) return;
      compared = true;
      if (at->second > *limit)
        missed.push_back(
            fmt::format("{} is {} with a limit of {}", what, milliseconds(at->second), milliseconds(*limit)));
    };
    if (tokens) {
      compare("first-token latency", result_.first_token, result_.target_first_token_ns);
      compare("time per output token", result_.per_output_token, result_.target_per_output_token_ns);
    } else {
      compare("latency", result_.latency, result_.target_latency_ns);
    }
    if (*result_.constraints_met && !missed.empty()) {
      contradiction("that the latency constraint is satisfied",
                    fmt::format("at the {}th percentile {}", plain_figure(percentile), join(missed, ", ")));
    }
    if (!*result_.constraints_met && compared && missed.empty()) {
      contradiction("that the latency constraint is not satisfied",
                    fmt::format("the {}th percentiles are within their limits", plain_figure(percentile)));
    }
  }

  void durations() {
    const bool offline = result_.scenario == "Offline";
    if (offline && result_.min_duration_met == true && result_.latency.max && result_.min_duration_ms &&
        *result_.latency.max < *result_.min_duration_ms * 1e6) {
      contradiction("that the minimum duration is satisfied",
                    fmt::format("the longest latency is {} and {} are asked for", milliseconds(*result_.latency.max),
                                milliseconds(*result_.min_duration_ms * 1e6)));
    }
    if (result_.min_queries_met == true && result_.queries && result_.min_queries &&
        *result_.queries < *result_.min_queries) {
      contradiction("that the minimum of queries is satisfied",
                    fmt::format("{} were issued and {} are asked for", *result_.queries, *result_.min_queries));
    }
  }

  void rates() {
    if (result_.scenario == "Offline" && result_.samples_per_second && result_.latency.max &&
        result_.generated_queries && result_.samples_per_query && *result_.latency.max > 0) {
      const double samples =
          static_cast<double>(*result_.generated_queries) * static_cast<double>(*result_.samples_per_query);
      const double rate = samples * 1e9 / *result_.latency.max;
      if (std::abs(rate - *result_.samples_per_second) > kPrinted + 1e-4 * rate) {
        contradiction(fmt::format("{} samples/s", plain_figure(*result_.samples_per_second)),
                      fmt::format("{:.0f} samples in {} are {}", samples, milliseconds(*result_.latency.max),
                                  plain_figure(rate)));
      }
    }
    const auto& done = result_.completed_samples_per_second;
    const auto& due = result_.scheduled_samples_per_second;
    if (done && due && *done > *due * 1.001 + kPrinted) {
      contradiction(fmt::format("{} completed samples/s", plain_figure(*done)),
                    fmt::format("only {} a second were scheduled", plain_figure(*due)));
    }
  }

  const LoadgenResult& result_;
  std::vector<Flag> flags_;
};

template <typename T>
void fill(std::optional<T>& into, const std::optional<T>& from) {
  if (!into) into = from;
}

void fill(std::string& into, const std::string& from) {
  if (into.empty()) into = from;
}

void fill(LatencyFigures& into, const LatencyFigures& from) {
  fill(into.min, from.min);
  fill(into.max, from.max);
  fill(into.mean, from.mean);
  for (const auto& [percentile, value] : from.percentiles) into.percentiles.emplace(percentile, value);
}

void fill_settings(LoadgenResult& into, const LoadgenResult& from) {
  fill(into.target_qps, from.target_qps);
  fill(into.target_latency_ns, from.target_latency_ns);
  fill(into.target_percentile, from.target_percentile);
  fill(into.target_first_token_ns, from.target_first_token_ns);
  fill(into.target_per_output_token_ns, from.target_per_output_token_ns);
  fill(into.min_duration_ms, from.min_duration_ms);
  fill(into.max_duration_ms, from.max_duration_ms);
  fill(into.min_queries, from.min_queries);
  fill(into.samples_per_query, from.samples_per_query);
  fill(into.data_set_samples, from.data_set_samples);
  into.parameters.insert(from.parameters.begin(), from.parameters.end());
}

std::string folder_of(std::string_view name) { return fs::path(name).parent_path().string(); }

}  // namespace

std::vector<Flag> merge_loadgen(LoadgenResult& into, const LoadgenResult& from) {
  std::vector<Flag> flags;
  const auto differ = [&](std::string_view what, std::string_view a, std::string_view b) {
    if (a.empty() || b.empty() || a == b) return;
    flags.push_back(
        {"contradiction", about(into), fmt::format("summary and detail log differ: {} {} and {}", what, a, b)});
  };
  differ("scenario", into.scenario, from.scenario);
  if (into.validity != LoadgenValidity::unknown && from.validity != LoadgenValidity::unknown)
    differ("result", name_of(into.validity), name_of(from.validity));
  if (into.latency.mean && from.latency.mean && *into.latency.mean != *from.latency.mean)
    differ("mean latency", milliseconds(*into.latency.mean), milliseconds(*from.latency.mean) + " (another run?)");
  fill(into.sut_name, from.sut_name);
  fill(into.scenario, from.scenario);
  fill(into.mode, from.mode);
  fill(into.version, from.version);
  fill(into.time, from.time);
  if (into.validity == LoadgenValidity::unknown) into.validity = from.validity;
  fill(into.constraints_met, from.constraints_met);
  fill(into.min_duration_met, from.min_duration_met);
  fill(into.min_queries_met, from.min_queries_met);
  fill(into.early_stopping_met, from.early_stopping_met);
  if (into.recommendations.empty()) into.recommendations = from.recommendations;
  fill(into.samples_per_second, from.samples_per_second);
  fill(into.completed_samples_per_second, from.completed_samples_per_second);
  fill(into.scheduled_samples_per_second, from.scheduled_samples_per_second);
  fill(into.tokens_per_second, from.tokens_per_second);
  fill(into.latency, from.latency);
  fill(into.first_token, from.first_token);
  fill(into.per_output_token, from.per_output_token);
  fill(into.early_stopping_latency_ns, from.early_stopping_latency_ns);
  fill(into.queries, from.queries);
  fill(into.over_latency_queries, from.over_latency_queries);
  fill(into.generated_queries, from.generated_queries);
  fill_settings(into, from);
  if (into.warnings.empty()) into.warnings = from.warnings;
  if (into.errors.empty()) into.errors = from.errors;
  into.warning_count = std::max(into.warning_count, from.warning_count);
  into.error_count = std::max(into.error_count, from.error_count);
  into.has_summary |= from.has_summary;
  into.has_detail |= from.has_detail;
  into.has_accuracy_log |= from.has_accuracy_log;
  into.cut |= from.cut;
  into.flags.insert(into.flags.end(), from.flags.begin(), from.flags.end());
  return flags;
}

std::vector<Flag> check_loadgen(const LoadgenResult& result) { return LoadgenChecks(result).run(); }

Result<LoadgenImport> import_loadgen(std::span<const NamedText> files) {
  LoadgenImport import;
  std::optional<Error> first_error;
  const auto add = [&](LoadgenResult one, const std::string& folder) {
    one.folder = folder;
    const auto known = std::find_if(import.results.begin(), import.results.end(),
                                    [&](const LoadgenResult& result) { return result.folder == folder; });
    if (known == import.results.end()) return import.results.push_back(std::move(one));
    // The summary's figures come first, whatever the order of the files.
    if (one.has_summary && !known->has_summary) std::swap(one, *known);
    auto flags = merge_loadgen(*known, one);
    std::move(flags.begin(), flags.end(), std::back_inserter(import.flags));
  };
  for (const auto& file : files) {
    const LoadgenFile kind = loadgen_file_kind(file.text, file.name);
    if (kind == LoadgenFile::accuracy) {
      LoadgenResult accuracy;
      accuracy.has_accuracy_log = true;
      add(std::move(accuracy), folder_of(file.name));
      continue;
    }
    auto one = kind == LoadgenFile::detail ? parse_loadgen_detail(file.text, file.name)
                                           : parse_loadgen_summary(file.text, file.name);
    if (one) {
      add(std::move(one).value(), folder_of(file.name));
      continue;
    }
    import.flags.push_back({"unreadable", file.name, one.error().text()});
    if (!first_error) first_error = std::move(one).error();
  }
  if (import.results.empty() && first_error) return *first_error;
  for (const auto& result : import.results) {
    auto flags = check_loadgen(result);
    std::move(flags.begin(), flags.end(), std::back_inserter(import.flags));
  }
  return import;
}

}  // namespace assay
