#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/result.h"
#include "model/alert.h"
#include "model/node_record.h"
#include "store/account_tables.h"

namespace assay {

/// Counts the changes of one row; 0 is a row that does not exist yet.
using Revision = std::int64_t;

/// A row as it was read, or as it is to be written: `revision` is the one that the change was made from. Whoever was
/// overtaken is refused with `busy`, reads again and decides anew.
template <typename Row>
struct Stored {
  Row row;
  Revision revision = 0;
};

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

/// A place in the list of resolved alerts: after the newer ones, and of those of one time after the smaller ids.
struct AlertPlace {
  WallTime since;
  std::string id;
};
struct AlertPageQuery {
  std::string node;  ///< empty: every one
  std::optional<AlertPlace> after;
  std::size_t limit = 1000;
  std::optional<WallTime> from;  ///< not those that were over before
  std::optional<WallTime> to;    ///< not those that began then or later
};

class AlertTable {
 public:
  virtual ~AlertTable() = default;
  /// Every one that is open, in no order.
  virtual Result<std::vector<Stored<AlertRecord>>> open() = 0;
  /// Newest first; fewer than `limit` only at the end.
  virtual Result<std::vector<Stored<AlertRecord>>> resolved(const AlertPageQuery& query) = 0;
  /// `not_found`.
  virtual Result<Stored<AlertRecord>> find(std::string_view id) = 0;
  /// Makes or changes all of them or none, and renews their revisions. `busy`: somebody else was first with one.
  virtual Result<void> put(std::span<Stored<AlertRecord>> alerts) = 0;
  /// Forgets resolved ones that began before `time`, at most `most`. Whether there are more.
  virtual Result<bool> forget_resolved(WallTime time, std::size_t most) = 0;
};

class SilenceTable {
 public:
  virtual ~SilenceTable() = default;
  virtual Result<std::vector<Silence>> list() = 0;
  /// `busy` if there is one of that id.
  virtual Result<void> add(const Silence& silence) = 0;
  /// One that does not exist is no error.
  virtual Result<void> remove(std::string_view id) = 0;
};

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

/// A place in the list of events: after those that are newer, or of the same time and came later.
struct EventPlace {
  WallTime time;
  std::int64_t id = 0;
  bool operator==(const EventPlace&) const = default;
};

struct EventQuery {
  std::string node;  ///< empty: every one; so with the others
  std::string kind;
  std::string about;
  std::optional<WallTime> from;
  std::optional<WallTime> to;  ///< before this
  std::optional<EventPlace> after;
  std::size_t limit = 100;
};

struct EventPage {
  std::vector<ClusterEvent> events;
  /// Where to go on. There may be fewer events than the limit, even none, and still a place: so far was looked.
  std::optional<EventPlace> next;
};

/// What is kept of the events of each node.
struct EventRetention {
  WallTime from;                  ///< older ones go
  std::size_t most_per_node = 0;  ///< beyond it, the oldest go; 0: any number
};

class EventLog {
 public:
  virtual ~EventLog() = default;
  /// Those that are not known yet (by time, node, kind, about and message), with their new ids; all or none.
  virtual Result<std::vector<ClusterEvent>> append(std::span<const ClusterEvent> events) = 0;
  /// Newest first. Looks at `kMostExamined` events at most, whatever is asked for: a filter that fits nothing costs no
  /// more than one that fits.
  virtual Result<EventPage> list(const EventQuery& query) = 0;
  /// `not_found`.
  virtual Result<EventPlace> place_of(std::int64_t id) = 0;
  /// Forgets at most `most` of what need not be kept. Whether there are more.
  virtual Result<bool> forget(const EventRetention& retention, std::size_t most) = 0;

  static constexpr std::size_t kMostExamined = 10'000;
};

/// A run that somebody asked the cluster for, until it has ended. Where an attempt is lost with its node, another run
/// takes its place, and the job goes on under its first run's id.
struct JobRecord {
  std::string run;      ///< the first that was to do it, by which the job is known
  std::string current;  ///< the run that does it now
  std::string node;     ///< where it must be done; empty: wherever it fits
  WallTime created;     ///< the age that counts in the queue
  std::string by;       ///< who asked
  std::string owner;    ///< the same as accounts name owners: `user ada`; whose use of the cluster it counts as
  /// As the plan has it, credentials included: for the node that does it and for nobody else.
  json::object planned;
  std::optional<std::vector<std::string>> gpus;  ///< UUIDs that were asked for; absent: as the run needs
  std::string study;                             ///< whose plan it is from; empty: none
  std::size_t entry = 0;                         ///< of that plan
  bool stop = false;                             ///< somebody wants it to end
  int priority = 0;                              ///< a step counts as an hour of waiting
  bool held = false;                             ///< it waits until somebody releases it
  std::vector<std::string> after;                ///< jobs that must have succeeded first
  int attempts = 1;                              ///< in all, where an attempt may be lost
  int attempt = 1;
  WallTime not_before{};  ///< of a further attempt
  bool operator==(const JobRecord&) const = default;
};

class JobTable {
 public:
  virtual ~JobTable() = default;
  /// Every one, oldest first.
  virtual Result<std::vector<Stored<JobRecord>>> list() = 0;
  /// Makes it (revision 0) or changes it; gives the new revision. `busy`: somebody else was first.
  virtual Result<Revision> put(const Stored<JobRecord>& job) = 0;
  /// One that does not exist is no error.
  virtual Result<void> remove(std::string_view run) = 0;
};

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

/// What the leader knows of its cluster besides telemetry and runs: a table for each kind of thing. Any thread may use
/// any table. What is written is on the disk when the call returns; those who read wait neither for those who write nor
/// for each other.
///
/// A further kind of thing is a further table here, in the fake and in each implementation, and its part of the
/// contract.
class ClusterStore {
 public:
  virtual ~ClusterStore() = default;
  virtual NodeTable& nodes() = 0;
  virtual AlertTable& alerts() = 0;
  virtual SilenceTable& silences() = 0;
  virtual EventLog& events() = 0;
  virtual JobTable& jobs() = 0;
  virtual AccountTables& accounts() = 0;
  virtual RefusalTable& refusals() = 0;
  virtual NoticeTable& notices() = 0;

  /// A consistent copy into a new file that the same kind of store opens. Nobody waits for it.
  virtual Result<void> backup_to(const fs::path& file) = 0;
};

}  // namespace assay
