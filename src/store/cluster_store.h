#pragma once

#include "base/files.h"
#include "base/result.h"

namespace assay {

// Each table has a header of its own: who changes one has what uses it compiled again, and nothing else.
class AccountTables;
class AlertTable;
class EventLog;
class JobTable;
class NodeTable;
class NoticeTable;
class RefusalTable;
class SilenceTable;

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
