#include "leader/hello.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace assay {
namespace {

constexpr std::size_t kMaxFacts = 64;
constexpr std::size_t kMaxFactBytes = 1024;
constexpr std::size_t kMaxListed = 32;
constexpr std::int64_t kLongestPeriodMs = 600'000;

bool fits(const std::vector<std::string>& list) {
  return list.size() <= kMaxListed &&
         std::all_of(list.begin(), list.end(), [](const std::string& text) { return text.size() <= kMaxFactBytes; });
}

bool fits(const std::map<std::string, std::string>& facts) {
  return facts.size() <= kMaxFacts && std::all_of(facts.begin(), facts.end(), [](const auto& fact) {
           return fact.first.size() <= kMaxFactBytes && fact.second.size() <= kMaxFactBytes;
         });
}

}  // namespace

Result<AgentHello> parse_hello(std::string_view body) {
  const auto as_usage = [](Error error) {
    error.kind = ErrorKind::usage;
    return error;
  };
  auto value = parse_json(body);
  if (!value) return as_usage(std::move(value).error());
  if (const auto schema = check_schema(*value, 1, "hello"); !schema) return as_usage(schema.error());
  JsonFields fields(*value, "hello");
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
  if (auto good = fields.finish(); !good) return as_usage(std::move(good).error());
  return hello;
}

}  // namespace assay
