#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

/// What a node sent and nobody stored, for one reason.
struct RefusalRecord {
  std::string node;
  std::string what;  ///< "samples", "series", "events"
  std::string why;   ///< for people
  std::int64_t count = 0;
  WallTime since;
  bool operator==(const RefusalRecord&) const = default;
};

/// Kept until somebody looked, whoever was started anew meanwhile.
class RefusalTable {
 public:
  virtual ~RefusalTable() = default;
  /// By node, in the order in which they were first put.
  virtual Result<std::vector<RefusalRecord>> list() = 0;
  /// Makes each or gives it its new count, by node, what and why; all or none.
  virtual Result<void> put(std::span<const RefusalRecord> refusals) = 0;
  /// All of a node; none is no error.
  virtual Result<void> remove(std::string_view node) = 0;
};

}  // namespace assay
