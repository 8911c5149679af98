#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/node_record.h"
#include "store/stored.h"

namespace assay {

/// What the leader knows of its nodes.
class NodeTable {
 public:
  virtual ~NodeTable() = default;
  /// In order of names, those after `after`; fewer than `limit` only at the end.
  virtual Result<std::vector<Stored<NodeRecord>>> list(std::string_view after, std::size_t limit) = 0;
  /// `not_found`.
  virtual Result<Stored<NodeRecord>> find(std::string_view name) = 0;
  /// Makes it (revision 0) or changes it; gives the new revision. `busy`: somebody else was first.
  virtual Result<Revision> put(const Stored<NodeRecord>& node) = 0;
  struct Seen {
    std::string name;
    WallTime time;
  };
  /// When nodes were last heard of. No change that revisions count; a node that does not exist is passed over.
  virtual Result<void> note_seen(std::span<const Seen> seen) = 0;
  /// One that does not exist is no error.
  virtual Result<void> remove(std::string_view name) = 0;
};

}  // namespace assay
