#include "protocol/hello.h"

#include <algorithm>

#include "protocol/message.h"

namespace assay {
namespace {

constexpr std::size_t kMaxFacts = 64;
constexpr std::size_t kMaxFactBytes = 1024;
constexpr std::size_t kMaxListed = 32;
constexpr std::int64_t kLongestPeriodMs = 600'000;

constexpr Nanos kShortestHeartbeat = std::chrono::milliseconds(100);
constexpr Nanos kLongestHeartbeat = std::chrono::seconds(60);

bool fits(const std::vector<std::string>& list) {
  return list.size() <= kMaxListed &&
         std::all_of(list.begin(), list.end(), [](const std::string& text) { return text.size() <= kMaxFactBytes; });
}

bool fits(const std::map<std::string, std::string>& facts) {
  return facts.size() <= kMaxFacts && std::all_of(facts.begin(), facts.end(), [](const auto& fact) {
           return fact.first.size() <= kMaxFactBytes && fact.second.size() <= kMaxFactBytes;
         });
}

Result<AgentHello> read_hello(std::string_view body) {
  ASSAY_TRY(const auto value, parse_json(body));
  ASSAY_CHECK(check_schema(value, 1, "hello"));
  JsonFields fields(value, "hello");
  AgentHello hello;
  hello.stream = fields.text("stream");
  hello.version = fields.text_or("assay", "");
  hello.period_ms = fields.integer_or("period_ms", 1000);
  hello.simulated = fields.boolean_or("simulated", false);
  hello.facts = fields.text_map_or_empty("facts");
  hello.allow = fields.texts_or_empty("allow");
  hello.sources = fields.texts_or_empty("sources");
  if (hello.stream.empty() || hello.stream.size() > 64) fields.fail("stream", "must have 1 to 64 characters");
  if (hello.version.size() > 64) fields.fail("assay", "must have at most 64 characters");
  if (hello.period_ms < 1 || hello.period_ms > kLongestPeriodMs) fields.fail("period_ms", "must be 1 to 600000");
  if (!fits(hello.facts)) fields.fail("facts", "must be at most 64, of at most 1024 bytes each");
  if (!fits(hello.allow)) fields.fail("allow", "must be at most 32, of at most 1024 bytes each");
  if (!fits(hello.sources)) fields.fail("sources", "must be at most 32, of at most 1024 bytes each");
  ASSAY_CHECK(fields.finish());
  return hello;
}

}  // namespace

json::object to_json(const AgentHello& hello) {
  return {{"schema", 1},
          {"stream", hello.stream},
          {"assay", hello.version},
          {"period_ms", hello.period_ms},
          {"simulated", hello.simulated},
          {"facts", json::value_from(hello.facts)},
          {"allow", json::value_from(hello.allow)},
          {"sources", json::value_from(hello.sources)}};
}

Result<AgentHello> parse_hello(std::string_view body) { return as_usage(read_hello(body)); }

json::object to_json(const HelloAnswer& answer) {
  return {{"now_ns", answer.now_ns}, {"heartbeat_ms", whole_milliseconds(answer.heartbeat)}};
}

Result<HelloAnswer> parse_hello_answer(std::string_view body) {
  ASSAY_TRY(const auto value, parse_json(body));
  JsonFields fields(value, "the leader's answer to hello");
  HelloAnswer answer{.now_ns = fields.integer_or("now_ns", 0)};
  answer.heartbeat = milliseconds_in(fields, "heartbeat_ms", answer.heartbeat, kShortestHeartbeat, kLongestHeartbeat);
  ASSAY_CHECK(fields.finish());
  return answer;
}

}  // namespace assay
