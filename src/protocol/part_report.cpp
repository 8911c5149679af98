#include "protocol/part_report.h"

#include <algorithm>

#include "protocol/message.h"

namespace assay {
namespace {

constexpr std::size_t kLongestWords = 4096;
constexpr std::size_t kLongestAddress = 255;  // of a host name
constexpr int kMostParts = 65'536;

json::object write_problem(const Error& error) {
  return {{"kind", name_of(error.kind)}, {"message", error.text()}, {"hint", error.hint}};
}

Error read_problem(const json::value& value, JsonFields& outer, std::string_view key) {
  JsonFields fields(value, "error");
  const auto kind = error_kind_from(fields.text_or("kind", ""));
  Error error{.kind = kind.value_or(ErrorKind::crash),
              .message = fields.text_or("message", ""),
              .hint = fields.text_or("hint", "")};
  if (!fields.finish()) outer.fail(key, "is no error");
  error.message.resize(std::min(error.message.size(), kLongestWords));
  error.hint.resize(std::min(error.hint.size(), kLongestWords));
  return error;
}

json::object write_meeting(const MeetingPlace& meeting) {
  return {{"address", meeting.address}, {"port", meeting.port}, {"secret", meeting.secret}};
}

MeetingPlace read_meeting(const json::value& value, JsonFields& outer) {
  JsonFields fields(value, "meeting");
  MeetingPlace meeting{
      .address = fields.text("address"), .port = fields.small_integer("port"), .secret = fields.text("secret")};
  const bool is_one = fields.finish() && !meeting.address.empty() && meeting.address.size() <= kLongestAddress &&
                      meeting.port >= 1 && meeting.port <= 65'535 && meeting.secret.size() <= kLongestWords;
  if (!is_one) outer.fail("meeting", "is no address with a port and a secret");
  return meeting;
}

Result<PartReport> read_part_report(std::string_view text) {
  ASSAY_TRY(const auto value, parse_json(text));
  JsonFields fields(value, "report");
  PartReport report{.meeting = {},
                    .bringing = fields.boolean_or("bringing", false),
                    .ended = fields.boolean_or("ended", false),
                    .error = {}};
  if (const auto* meeting = fields.find("meeting")) report.meeting = read_meeting(*meeting, fields);
  if (const auto* error = fields.find("error")) report.error = read_problem(*error, fields, "error");
  ASSAY_CHECK(fields.finish());
  return report;
}

}  // namespace

json::object to_json(const PartOfRun& part) {
  json::object object{{"number", part.number}, {"of", part.of}, {"epoch", part.epoch}};
  if (part.meeting) object["meeting"] = write_meeting(*part.meeting);
  return object;
}

json::object to_json(const PartReport& report) {
  json::object object{{"ended", report.ended}};
  if (report.bringing) object["bringing"] = true;
  if (report.meeting) object["meeting"] = write_meeting(*report.meeting);
  if (report.error) object["error"] = write_problem(*report.error);
  return object;
}

json::object to_json(const PartAnswer& answer) {
  json::object object{{"open", answer.open}};
  if (answer.bringing > 0) object["bringing"] = answer.bringing;
  if (answer.lost) object["lost"] = write_problem(*answer.lost);
  return object;
}

Result<PartOfRun> part_of_run_from_json(const json::value& value) {
  JsonFields fields(value, "part");
  PartOfRun part{.number = fields.small_integer("number"), .of = fields.small_integer("of")};
  const auto epoch = fields.integer("epoch");
  if (part.of < 1 || part.of > kMostParts || part.number < 0 || part.number >= part.of || epoch < 0) {
    fields.fail("number", "is no part of a run");
  }
  part.epoch = static_cast<std::uint64_t>(epoch);
  if (const auto* meeting = fields.find("meeting")) part.meeting = read_meeting(*meeting, fields);
  ASSAY_CHECK(fields.finish());
  return part;
}

Result<PartReport> parse_part_report(std::string_view text) { return as_usage(read_part_report(text)); }

Result<PartAnswer> part_answer_from_json(const json::value& value) {
  JsonFields fields(value, "the answer to a report");
  PartAnswer answer{
      .open = fields.small_integer_or("open", 0), .bringing = fields.small_integer_or("bringing", 0), .lost = {}};
  if (const auto* lost = fields.find("lost")) answer.lost = read_problem(*lost, fields, "lost");
  ASSAY_CHECK(fields.finish());
  return answer;
}

}  // namespace assay
