#include "protocol/join.h"

#include "protocol/message.h"

namespace assay {
namespace {

Result<JoinRequest> read_join(std::string_view body) {
  ASSAY_TRY(const auto value, parse_json_strictly(body));
  JsonFields fields(value, "join");
  JoinRequest join{.node = fields.text("node"), .key = fields.text("key")};
  ASSAY_CHECK(fields.finish());
  return join;
}

}  // namespace

json::object to_json(const JoinRequest& join) { return {{"node", join.node}, {"key", join.key}}; }

Result<JoinRequest> parse_join(std::string_view body) { return as_usage(read_join(body)); }

}  // namespace assay
