#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/api_type.h"
#include "base/clock.h"
#include "base/json.h"

namespace assay {

// What somebody who looks asks for beside the runs themselves: which metrics are known, how a specification is written,
// reports, output.

struct KnownMetric {
  std::string name;
  std::string unit;
  std::string description;
  std::string better;  ///< "higher", "lower" or empty
  bool counter = false;
};
struct KnownMetrics {
  std::vector<KnownMetric> metrics;
};

struct SpecSchema {
  json::object schema;
};
/// A specification that somebody is writing.
struct SpecDraft {
  std::string spec;
  std::vector<std::string> set;
};
struct SpecMistake {
  int line = 0;
  int column = 0;
  std::string message;
};
struct SpecOpinion {
  bool valid = false;
  std::vector<SpecMistake> mistakes;
  std::int64_t runs = 0;
  std::string kind;
};

struct ReportAnswer {
  json::object document;
};

struct LogLine {
  WallTime time;
  bool error = false;
  std::string text;
};
struct RunLog {
  std::vector<LogLine> lines;
  std::string next;
  bool more = false;
};

template <>
const ApiType<KnownMetric>& api_type();
template <>
const ApiType<KnownMetrics>& api_type();
template <>
const ApiType<SpecSchema>& api_type();
template <>
const ApiType<SpecDraft>& api_type();
template <>
const ApiType<SpecMistake>& api_type();
template <>
const ApiType<SpecOpinion>& api_type();
template <>
const ApiType<ReportAnswer>& api_type();
template <>
const ApiType<LogLine>& api_type();
template <>
const ApiType<RunLog>& api_type();

}  // namespace assay
