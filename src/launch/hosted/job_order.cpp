#include "launch/hosted/job_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/spawn.h"
#include "base/text.h"
#include "launch/job.h"

namespace assay {
namespace {

constexpr int kOrderSchema = 1;
// More than any cluster has: what is beyond is damage.
constexpr std::int64_t kMostRanks = 1'000'000;

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// JSON carries Unicode; what else a path or an argument may hold would come out changed.
bool survives_json(const std::string& text) { return parse_json(json::serialize(json::value(text))).ok(); }

Result<void> check_texts(const Job& job) {
  const auto check = [](std::string_view what, const std::string& text) -> Result<void> {
    if (survives_json(text)) return {};
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("{} '{}' is not UTF-8, so that no other machine can be told of it", what,
                                        printable(text))};
  };
  for (const auto& argument : job.arguments) ASSAY_CHECK(check("the argument", argument));
  for (const auto& [name, value] : job.environment) {
    ASSAY_CHECK(check("the variable", name));
    ASSAY_CHECK(check("the value of " + name, value));
  }
  if (job.folder) ASSAY_CHECK(check("the folder", job.folder->string()));
  if (job.scratch) ASSAY_CHECK(check("the folder", job.scratch->string()));
  return {};
}

}  // namespace

Result<void> check_order(const Job& job) {
  if (job.inherit_input) {
    return Error{.kind = ErrorKind::unsupported,
                 .message = "a job on another machine cannot read our standard input",
                 .hint = "Give it a file to read."};
  }
  ASSAY_CHECK(check_arguments(job.arguments));
  ASSAY_CHECK(check_environment(job.environment));
  return check_texts(job);
}

Result<std::string> write_order(const Job& job) {
  ASSAY_CHECK(check_order(job));
  json::object order{{"schema", kOrderSchema},
                     {"name", printable(job.name)},
                     {"token", job.token},
                     {"arguments", json::value_from(job.arguments)},
                     {"environment", json::value_from(job.environment)},
                     {"nodes", job.ranks.nodes},
                     {"per_node", job.ranks.per_node},
                     {"grace_ns", job.grace.count()},
                     {"time_limit_ns", job.time_limit.count()},
                     {"reading_period_ns", job.reading_period.count()}};
  if (!job.nodes.empty()) order["on"] = json::value_from(job.nodes);
  if (job.scratch) order["scratch"] = job.scratch->string();
  if (job.folder) order["folder"] = job.folder->string();
  if (job.devices) order["devices"] = json::value_from(*job.devices);
  return pretty_json(order);
}

Result<Job> read_order(std::string_view text) {
  ASSAY_TRY(const auto value, parse_json(text));
  ASSAY_CHECK(check_schema(value, kOrderSchema, "the job's order"));
  JsonFields fields(value, "the job's order");
  Job job;
  job.arguments = fields.texts_or_empty("arguments");
  job.environment = fields.text_map_or_empty("environment");
  if (fields.find("folder")) job.folder = fields.text("folder");
  if (fields.find("scratch")) job.scratch = fields.text("scratch");
  if (fields.find("devices")) job.devices = fields.texts_or_empty("devices");
  job.ranks = {.nodes = fields.integer_or("nodes", 1), .per_node = fields.integer_or("per_node", 1)};
  job.nodes = fields.texts_or_empty("on");
  job.grace = Nanos(fields.integer_or("grace_ns", job.grace.count()));
  job.time_limit = Nanos(fields.integer_or("time_limit_ns", 0));
  job.reading_period = Nanos(fields.integer_or("reading_period_ns", 0));
  job.name = fields.text_or("name", "");
  job.token = fields.text_or("token", "");
  for (const auto count : {job.ranks.nodes, job.ranks.per_node}) {
    if (count < 1 || count > kMostRanks) fields.fail("nodes", "is not a number of nodes or processes");
  }
  if (std::min({job.grace, job.time_limit, job.reading_period}) < Nanos(0)) fields.fail("grace_ns", "is negative");
  ASSAY_CHECK(fields.finish());
  return job;
}

std::string text_of(PartOfJob part) { return fmt::format("{}/{}", part.number, part.of); }

Result<PartOfJob> parse_part(std::string_view text) {
  const auto slash = text.find('/');
  const auto number = whole_number(text.substr(0, slash));
  const auto of = slash == std::string_view::npos ? std::nullopt : whole_number(text.substr(slash + 1));
  if (number && of && *number >= 0 && *number < *of && *of <= kMostRanks) return PartOfJob{*number, *of};
  return Error{.kind = ErrorKind::usage, .message = fmt::format("'{}' is not a part of a job: 0/2, 1/2", text)};
}

}  // namespace assay
