#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

/// What somebody outside is to be told and was not yet.
struct NoticeRecord {
  std::int64_t id = 0;  ///< ascending; given by the store
  std::string outlet;   ///< for whom
  std::string body;
  WallTime time;  ///< when there was reason to tell it
  bool operator==(const NoticeRecord&) const = default;
};

class NoticeTable {
 public:
  virtual ~NoticeTable() = default;
  /// Every one, oldest first.
  virtual Result<std::vector<NoticeRecord>> list() = 0;
  /// Gives them ids; all or none.
  virtual Result<void> add(std::span<NoticeRecord> notices) = 0;
  /// One that does not exist is no error.
  virtual Result<void> remove(std::int64_t id) = 0;
};

}  // namespace assay
