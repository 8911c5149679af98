#include "access/token_record.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <utility>

#include "access/secrets.h"
#include "base/json.h"
#include "base/text.h"

namespace assay {
namespace {

constexpr std::size_t kLongestName = 64;

bool is_name(std::string_view text, std::string_view also) {
  if (text.empty() || text.size() > kLongestName) return false;
  if (text.find_first_not_of('.') == std::string_view::npos) return false;
  return std::all_of(text.begin(), text.end(), [&](char character) {
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           (character >= '0' && character <= '9') || also.find(character) != std::string_view::npos;
  });
}

std::int64_t nanos_of(WallTime time) { return time.time_since_epoch().count(); }

json::value json_of(const TokenMade& made) {
  json::object object{{"kind", "token"},   {"id", made.id},
                      {"name", made.name}, {"role", name_of(made.role)},
                      {"hash", made.hash}, {"time_ns", nanos_of(made.time)}};
  if (made.expires) object["expires_ns"] = nanos_of(*made.expires);
  if (!made.terms.nodes.empty()) object["nodes"] = made.terms.nodes;
  if (made.terms.most_nodes) object["most_nodes"] = *made.terms.most_nodes;
  if (made.terms.needs_approval) object["approval"] = true;
  return object;
}
json::value json_of(const TokenRevoked& revoked) {
  json::object object{{"kind", "token_revoked"}, {"id", revoked.id}, {"time_ns", nanos_of(revoked.time)}};
  if (revoked.with_nodes) object["with_nodes"] = true;
  return object;
}
json::value json_of(const NodeJoined& joined) {
  json::object object{{"kind", "node"},
                      {"node", joined.node},
                      {"hash", joined.hash},
                      {"token", joined.token},
                      {"time_ns", nanos_of(joined.time)}};
  if (joined.waits) object["waits"] = true;
  return object;
}
json::value json_of(const NodeRevoked& revoked) {
  return {{"kind", "node_revoked"}, {"node", revoked.node}, {"time_ns", nanos_of(revoked.time)}};
}
json::value json_of(const NodeApproved& approved) {
  return {{"kind", "node_approved"}, {"node", approved.node}, {"time_ns", nanos_of(approved.time)}};
}

/// Reads the fields of one record; every reader ends in `finish`.
class RecordReader {
 public:
  explicit RecordReader(const json::value& value) : fields_(value, "record") {}

  std::string kind() { return fields_.text("kind"); }

  Result<TokenRecord> token() {
    TokenMade made{.id = name("id"), .name = name("name"), .hash = hash(), .time = time("time_ns")};
    const auto role = role_from(fields_.text("role"));
    if (!role) fields_.fail("role", "is not a role");
    made.role = role.value_or(Role::viewer);
    if (fields_.find("expires_ns") != nullptr) made.expires = time("expires_ns");
    made.terms = terms();
    return finish(std::move(made));
  }
  Result<TokenRecord> token_revoked() {
    return finish(
        TokenRevoked{.id = name("id"), .time = time("time_ns"), .with_nodes = fields_.boolean_or("with_nodes", false)});
  }
  Result<TokenRecord> node() {
    return finish(NodeJoined{.node = name("node"),
                             .hash = hash(),
                             .token = name("token"),
                             .time = time("time_ns"),
                             .waits = fields_.boolean_or("waits", false)});
  }
  Result<TokenRecord> node_approved() { return finish(NodeApproved{.node = name("node"), .time = time("time_ns")}); }
  Result<TokenRecord> node_revoked() { return finish(NodeRevoked{.node = name("node"), .time = time("time_ns")}); }
  Result<TokenRecord> unknown() {
    fields_.fail("kind", "is of a later version of assay, or damaged");
    return finish(TokenRevoked());
  }

 private:
  std::string name(std::string_view key) {
    std::string text = fields_.text(key);
    if (!is_token_name(text)) fields_.fail(key, "is not a name");
    return text;
  }
  std::string hash() {
    std::string text = fields_.text("hash");
    if (!is_sha256(text)) fields_.fail("hash", "is not 64 hexadecimal digits");
    return text;
  }
  JoinTerms terms() {
    JoinTerms terms{.needs_approval = fields_.boolean_or("approval", false)};
    if (fields_.find("nodes") != nullptr) {
      terms.nodes = fields_.text("nodes");
      if (!is_node_pattern(terms.nodes)) fields_.fail("nodes", "is not a pattern of names");
    }
    if (fields_.find("most_nodes") != nullptr) terms.most_nodes = fields_.integer("most_nodes");
    return terms;
  }
  WallTime time(std::string_view key) { return WallTime(Nanos(fields_.integer(key))); }

  Result<TokenRecord> finish(TokenRecord record) {
    ASSAY_CHECK(fields_.finish());
    return record;
  }

  JsonFields fields_;
};

}  // namespace

bool is_node_name(std::string_view text) { return is_name(text, "-_."); }

bool is_token_name(std::string_view text) { return is_name(text, "-_.@"); }

bool is_node_pattern(std::string_view text) {
  constexpr std::size_t kLongestPattern = 256;
  if (text.empty() || text.size() > kLongestPattern) return false;
  const auto patterns = split(text, ',');
  return std::all_of(patterns.begin(), patterns.end(), [](std::string_view one) { return is_name(one, "-_.*?[]"); });
}

bool matches_node_pattern(std::string_view pattern, std::string_view node) {
  const std::string name(node);
  const auto patterns = split(pattern, ',');
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](std::string_view one) { return ::fnmatch(std::string(one).c_str(), name.c_str(), 0) == 0; });
}

std::string line_of(const TokenRecord& record) {
  return json::serialize(std::visit([](const auto& one) { return json_of(one); }, record)) + "\n";
}

Result<TokenRecord> parse_token_line(std::string_view line) {
  if (line.size() >= kLongestTokenLine) {
    return Error{.kind = ErrorKind::bad_file, .message = fmt::format("longer than {} bytes", kLongestTokenLine)};
  }
  ASSAY_TRY(const json::value value, parse_json(line));
  RecordReader reader(value);
  const std::string kind = reader.kind();
  if (kind == "token") return reader.token();
  if (kind == "token_revoked") return reader.token_revoked();
  if (kind == "node") return reader.node();
  if (kind == "node_revoked") return reader.node_revoked();
  if (kind == "node_approved") return reader.node_approved();
  return reader.unknown();
}

}  // namespace assay
