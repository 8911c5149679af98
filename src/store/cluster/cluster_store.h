#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/result.h"

namespace assay {

/// Something that happened on a node, or to it.
struct ClusterEvent {
  std::int64_t id = 0;  ///< ascending in the order of arrival; given by the store
  WallTime time;
  std::string node;
  std::string kind;     ///< those of src/telemetry/README.md, and "inventory", "node_online", "node_offline", …
  std::string about;    ///< a GPU's UUID, a source's name, …
  std::string message;  ///< for people
  std::map<std::string, double> values;
};

struct EventQuery {
  std::string node;  ///< empty: every one; so with the others
  std::string kind;
  std::string about;
  std::optional<WallTime> from;
  std::optional<WallTime> to;  ///< before this
  std::int64_t before_id = 0;  ///< what comes after that event in the list; 0: from the newest on
  std::size_t limit = 100;
};

/// A named JSON object of some kind: a node, an alert, a silence.
struct ClusterDocument {
  std::string id;
  WallTime time;  ///< decides the order
  json::object content;
};

struct ClusterDocumentQuery {
  std::string kind;
  bool open_only = false;
  std::optional<WallTime> from;
  std::size_t limit = 100'000;
};

/// What the leader knows of its cluster besides telemetry and runs: nodes, events, alerts, silences. Any thread;
/// every call may wait for the disk.
class ClusterStore {
 public:
  virtual ~ClusterStore() = default;

  /// Makes or replaces. `open` marks what is not settled, for quick finding.
  virtual Result<void> put(std::string_view kind, const ClusterDocument& document, bool open) = 0;
  /// The same for many at once, all or none.
  virtual Result<void> put_all(std::string_view kind, std::span<const ClusterDocument> documents, bool open) = 0;
  /// `not_found`.
  virtual Result<ClusterDocument> find(std::string_view kind, std::string_view id) = 0;
  /// Newest first.
  virtual Result<std::vector<ClusterDocument>> list(const ClusterDocumentQuery& query) = 0;
  /// One that does not exist is no error.
  virtual Result<void> remove(std::string_view kind, std::string_view id) = 0;

  /// Those that are not known yet (by time, node, kind, about and message), with their new ids.
  virtual Result<std::vector<ClusterEvent>> append_events(std::span<const ClusterEvent> events) = 0;
  /// Newest first.
  virtual Result<std::vector<ClusterEvent>> events(const EventQuery& query) = 0;
  /// Forgets events, and documents of `settled_kind` that are not open, that are older.
  virtual Result<void> forget_before(WallTime time, std::string_view settled_kind) = 0;

  /// A consistent copy into a new file.
  virtual Result<void> backup_to(const fs::path& file) = 0;
};

/// The embedded one: one SQLite file.
Result<std::unique_ptr<ClusterStore>> open_cluster_store(const fs::path& file);

}  // namespace assay
