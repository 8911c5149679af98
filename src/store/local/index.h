#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_lock.h"
#include "base/files.h"
#include "base/result.h"
#include "model/run.h"
#include "store/local/local_store.h"
#include "store/run_answers.h"
#include "store/run_query.h"
#include "store/run_store.h"
#include "store/sqlite/sqlite.h"

namespace assay {

/// The SQLite index beside the run folders. It holds nothing that is not in the folders: damaged, deleted or written
/// by another version, it is moved aside and made again from what `scan` finds. Where it cannot be written at all
/// (read-only folder, full disk) the same tables are kept in memory instead.
/// Any thread; several processes may use the same file.
class Index {
 public:
  /// Reads every run folder; called whenever the index has to be filled.
  using Scan = std::function<std::vector<RunRow>()>;

  static Result<std::unique_ptr<Index>> open(fs::path folder, Sharing sharing, Scan scan);

  Result<void> put(const RunRow& row);
  Result<void> forget(std::string_view id);
  /// On a connection of its own where the file allows it: whoever lists holds up nobody who writes.
  Result<RunPage> list(const RunQuery& query);
  /// Of all runs.
  Result<std::set<std::string>> ids();
  /// Ids of runs in state `starting` or `running`, in their order: those after `after`, at most `most`.
  Result<std::vector<std::string>> running(std::string_view after, std::size_t most);
  /// See `RunStore`.
  Result<std::vector<RunChange>> changes(std::uint64_t since, std::size_t limit);
  Result<std::uint64_t> newest_change();
  /// Puts all rows and forgets every other run that `still_there` denies.
  Result<void> replace(const std::vector<RunRow>& rows, const std::function<bool(const std::string&)>& still_there);

 private:
  /// Which file a connection is on: another process may have put a new one in its place.
  struct FileIdentity {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const FileIdentity&) const = default;
  };

  Index(fs::path folder, Sharing sharing, Scan scan)
      : folder_(std::move(folder)), sharing_(sharing), scan_(std::move(scan)) {}
  fs::path file() const { return folder_ / "index.db"; }
  std::optional<FileIdentity> identity() const;

  /// A connection for one reader; none where readers have to share the one that writes.
  Result<std::unique_ptr<Database>> take_reader();
  void give_back(std::unique_ptr<Database> reader, const std::optional<FileIdentity>& read_from);

  Result<void> connect();
  Result<void> connect_to_file();
  Result<void> connect_to_memory();
  Result<void> set_aside();
  Result<void> make_tables();
  /// Runs `operation` on an intact index.
  template <typename Operation>
  auto guarded(Operation operation) -> decltype(operation());
  /// The same inside one write transaction.
  Result<void> write(const std::function<Result<void>()>& operation);

  const fs::path folder_;
  const Sharing sharing_;
  const Scan scan_;
  std::mutex mutex_;
  std::unique_ptr<Database> database_;
  std::optional<FileIdentity> connected_to_;             ///< absent for the index in memory
  std::vector<std::unique_ptr<Database>> idle_readers_;  ///< of the file that `connected_to_` says
};

}  // namespace assay
