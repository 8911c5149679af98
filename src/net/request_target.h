#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/headers.h"

namespace assay {

/// `a=1&b=&c` without the '?'.
Result<NamedValues> parse_query(std::string_view query);

/// A request target split as a server needs it.
struct RequestTarget {
  std::vector<std::string> segments;  ///< decoded: "/a/b%2Fc" is {"a", "b/c"}; "/" is {""}
  std::string path;                   ///< decoded
  NamedValues query;
};
/// Takes "/path?query" and "http://host/path?query"; "*" gives the path "*" and no segment. Dot segments ("..") are
/// refused, since no honest client sends them and file handlers must not meet them.
Result<RequestTarget> parse_request_target(std::string_view target);

}  // namespace assay
