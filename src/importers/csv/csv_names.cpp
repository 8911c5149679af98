#include "importers/csv/csv_names.h"

#include <array>
#include <filesystem>

#include "base/text.h"
#include "importers/text/log_keys.h"

namespace assay {
namespace {

bool take_ending(std::string& text, std::string_view ending) {
  if (!lower_case(text).ends_with(ending) || text.size() <= ending.size()) return false;
  text.resize(text.size() - ending.size());
  text = std::string(trim(text));
  return true;
}

}  // namespace

CsvTitle read_csv_title(std::string_view title) {
  constexpr std::string_view kMetrics = "metrics.";
  CsvTitle read{.metric = std::string(trim(title))};
  if (read.metric.starts_with(kMetrics) && read.metric.size() > kMetrics.size()) read.metric.erase(0, kMetrics.size());
  for (const std::string_view ending : {"(%)", "[%]", "_percent", "_pct", " %"}) {
    read.percent = read.percent || take_ending(read.metric, ending);
  }
  return read;
}

std::string_view metric_for_title(std::string_view metric) {
  if (const auto known = known_metric_name(metric); !known.empty()) return known;
  const std::size_t gap = metric.find_last_of("_/ ");
  if (gap == std::string_view::npos) return {};
  const std::string turned = std::string(metric.substr(gap + 1)) + "_" + std::string(metric.substr(0, gap));
  return known_metric_name(turned);
}

std::optional<TensorboardName> tensorboard_name(std::string_view file_name) {
  const std::string stem = std::filesystem::path(file_name).stem().string();
  constexpr std::string_view kRun = "run-";
  constexpr std::string_view kTag = "-tag-";
  const std::size_t tag = stem.find(kTag);
  if (!stem.starts_with(kRun) || tag == std::string::npos || tag < kRun.size()) return std::nullopt;
  TensorboardName name{.run = stem.substr(kRun.size(), tag - kRun.size()), .tag = stem.substr(tag + kTag.size())};
  if (name.tag.empty()) return std::nullopt;
  if (name.run == ".") name.run.clear();
  return name;
}

std::optional<SampleTimes> sample_times(std::string_view title) {
  std::string name = lower_case(trim(title));
  SampleTimes times;
  struct Unit {
    std::string_view ending;
    double seconds;
  };
  static constexpr std::array kUnits = {
      Unit{"_ms", 1e-3},  Unit{"(ms)", 1e-3}, Unit{"[ms]", 1e-3}, Unit{" ms", 1e-3},   Unit{"_us", 1e-6},
      Unit{"(us)", 1e-6}, Unit{"_s", 1},      Unit{"(s)", 1},     Unit{"_seconds", 1}, Unit{"_sec", 1},
  };
  const Unit* unit = nullptr;
  for (const auto& known : kUnits) {
    if (!unit && take_ending(name, known.ending)) unit = &known;
  }
  if (!unit) return std::nullopt;
  times.seconds = unit->seconds;
  if (name == "latency" || name == "request_latency" || name == "e2e_latency" || name == "e2e" ||
      name == "sample_latency" || name == "response_time" || name == "sample.latency") {
    times.prefix = "latency";
  } else if (name == "ttft" || name == "time_to_first_token") {
    times.prefix = "ttft";
  } else if (name == "tpot" || name == "time_per_output_token") {
    times.prefix = "tpot";
  } else {
    return std::nullopt;
  }
  return times;
}

}  // namespace assay
