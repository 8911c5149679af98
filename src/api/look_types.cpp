#include "api/look_types.h"

namespace assay {

template <>
const ApiType<KnownMetric>& api_type() {
  static const auto type = ApiType<KnownMetric>("KnownMetric", "What assay knows of a metric by its name.")
                               .field("name", &KnownMetric::name, "What it is called")
                               .field("unit", &KnownMetric::unit, "That its values are kept in; ratio: 0…1")
                               .field("description", &KnownMetric::description, "What it means")
                               .field("better", &KnownMetric::better, "higher, lower, or empty: neither")
                               .field("counter", &KnownMetric::counter, "Whether it only grows");
  return type;
}

template <>
const ApiType<KnownMetrics>& api_type() {
  static const auto type = ApiType<KnownMetrics>("KnownMetrics", "The metrics that are known by name.")
                               .field("metrics", &KnownMetrics::metrics, "In the order in which tables show them");
  return type;
}

template <>
const ApiType<SpecSchema>& api_type() {
  static const auto type = ApiType<SpecSchema>("SpecSchema", "How a specification is written.")
                               .field("schema", &SpecSchema::schema, "A JSON Schema (2020-12)");
  return type;
}

template <>
const ApiType<SpecDraft>& api_type() {
  static const auto type = ApiType<SpecDraft>("SpecDraft", "A specification that somebody is writing.")
                               .field("spec", &SpecDraft::spec, "YAML text")
                               .optional("set", &SpecDraft::set, "Changed settings: batch_size=64");
  return type;
}

template <>
const ApiType<SpecMistake>& api_type() {
  static const auto type = ApiType<SpecMistake>("SpecMistake", "A mistake in a specification.")
                               .field("line", &SpecMistake::line, "From 1 on; 0: of the whole, or of a changed setting")
                               .field("column", &SpecMistake::column, "From 1 on")
                               .field("message", &SpecMistake::message, "What is wrong, and what to write instead");
  return type;
}

template <>
const ApiType<SpecOpinion>& api_type() {
  static const auto type = ApiType<SpecOpinion>("SpecOpinion", "What is to be said of a specification.")
                               .field("valid", &SpecOpinion::valid, "Whether it can be asked for")
                               .field("mistakes", &SpecOpinion::mistakes, "All of them, in the order of the text")
                               .field("runs", &SpecOpinion::runs, "How many runs it asks for")
                               .field("kind", &SpecOpinion::kind, "train, command, …; empty while it is not valid");
  return type;
}

template <>
const ApiType<ReportAnswer>& api_type() {
  static const auto type =
      ApiType<ReportAnswer>("ReportAnswer", "A report, as `assay report --format json` prints it.")
          .field("document", &ReportAnswer::document, "title, verdict, sections of paragraphs, tables, charts, …");
  return type;
}

template <>
const ApiType<LogLine>& api_type() {
  static const auto type = ApiType<LogLine>("LogLine", "A line that a workload printed.")
                               .field("time", &LogLine::time, "When it was read")
                               .field("error", &LogLine::error, "Whether it was printed to standard error")
                               .field("text", &LogLine::text, "Without escape sequences and control characters");
  return type;
}

template <>
const ApiType<RunLog>& api_type() {
  static const auto type = ApiType<RunLog>("RunLog", "What a run's workload printed.")
                               .field("lines", &RunLog::lines, "In the order of each process")
                               .field("next", &RunLog::next, "For `after`: goes on behind these")
                               .field("more", &RunLog::more, "Whether there is more already");
  return type;
}

}  // namespace assay
