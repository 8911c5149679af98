#include "launch/hosted/part_ending.h"

#include <algorithm>

#include "launch/job_ending.h"

namespace assay {
namespace {

constexpr int kEndingSchema = 1;

std::optional<int> small_number(JsonFields& fields, std::string_view key) {
  if (!fields.find(key)) return std::nullopt;
  return fields.small_integer(key);
}

}  // namespace

json::object to_json(const PartEnding& result) {
  json::object ending{{"schema", kEndingSchema}};
  if (!result) {
    ending["error"] = json::object{
        {"kind", name_of(result.error().kind)}, {"message", result.error().text()}, {"hint", result.error().hint}};
    return ending;
  }
  if (result->exit_code) ending["exit_code"] = *result->exit_code;
  if (result->signal) ending["signal"] = *result->signal;
  if (result->usage) {
    ending["usage"] = json::object{{"user_ns", result->usage->user_time.count()},
                                   {"system_ns", result->usage->system_time.count()},
                                   {"peak_rss_bytes", result->usage->peak_rss_bytes}};
  }
  if (result->ran_for) ending["ran_for_ns"] = result->ran_for->count();
  ending["left_behind"] = json::value_from(result->left_behind);
  ending["still_running"] = json::value_from(result->still_running);
  ending["stopped"] = result->stopped;
  ending["out_of_memory"] = result->out_of_memory;
  return ending;
}

Result<PartEnding> part_ending_from_json(const json::value& value) {
  ASSAY_CHECK(check_schema(value, kEndingSchema, "the ending"));
  JsonFields fields(value, "the ending");
  if (const auto* problem = fields.find("error")) {
    JsonFields of(*problem, "the ending's error");
    Error error{.kind = error_kind_from(of.text("kind")).value_or(ErrorKind::crash),
                .message = of.text("message"),
                .hint = of.text_or("hint", "")};
    ASSAY_CHECK(of.finish());
    return PartEnding(std::move(error));
  }
  JobEnding ending{.exit_code = small_number(fields, "exit_code"),
                   .signal = small_number(fields, "signal"),
                   .left_behind = fields.texts_or_empty("left_behind"),
                   .still_running = fields.texts_or_empty("still_running"),
                   .stopped = fields.boolean_or("stopped", false),
                   .out_of_memory = fields.boolean_or("out_of_memory", false)};
  if (fields.find("ran_for_ns")) ending.ran_for = Nanos(fields.integer("ran_for_ns"));
  if (const auto* usage = fields.find("usage")) {
    JsonFields of(*usage, "the ending's usage");
    ending.usage = JobUsage{.user_time = Nanos(of.integer_or("user_ns", 0)),
                            .system_time = Nanos(of.integer_or("system_ns", 0)),
                            .peak_rss_bytes = of.integer_or("peak_rss_bytes", 0)};
    ASSAY_CHECK(of.finish());
  }
  ASSAY_CHECK(fields.finish());
  return PartEnding(std::move(ending));
}

bool has_failed(const PartEnding& ending) { return !ending || ending->exit_code != 0; }

void add_to(JobEnding& ending, const PartEnding& other) {
  if (other) add_to(ending, *other);
}

}  // namespace assay
