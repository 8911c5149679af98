#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace assay {

/// An agent registers the key that is its node's from then on. Whether name and key are any, others look at.
struct JoinRequest {
  std::string node;
  std::string key;
  bool operator==(const JoinRequest&) const = default;
};

json::object to_json(const JoinRequest& join);
/// Any bytes: `usage`.
Result<JoinRequest> parse_join(std::string_view body);

}  // namespace assay
