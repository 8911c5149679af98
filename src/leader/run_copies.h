#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"
#include "store/cluster_store.h"

namespace assay {

/// Some bytes of a file of a run that an agent was asked for.
struct RunPiece {
  std::string_view node;
  std::string_view command;  ///< the `run` command that asked for it
  std::string_view run;
  std::string_view file;
  std::uint64_t offset = 0;
  std::string_view bytes;
};

/// Copies of run folders that agents send while their runs go on, byte by byte. A copy is built aside and handed over
/// when it is complete: its run.json, which comes last, can be read. Only what a `run` command of the same node asked
/// for is taken; which commands there were outlives the leader. Any thread.
class RunCopies {
 public:
  /// Hands a complete folder over to wherever runs are kept. `usage`: another run has that id, and no second try would
  /// help; whatever else goes wrong is tried again, also after a success that nobody was left to write down.
  using Publish = std::function<Result<void>(const std::string& run, const fs::path& folder)>;

  struct Limits {
    std::uint64_t file_bytes = std::uint64_t{4} << 30;
    std::uint64_t node_bytes = std::uint64_t{64} << 30;  ///< of all copies of one node that are not complete
    std::size_t files = 10'000;                          ///< of one run
    std::size_t runs = 256;                              ///< of one node that are not complete; a study has many
  };
  RunCopies(fs::path folder, ClusterStore& cluster, const Clock& clock, Publish publish, Limits limits);
  RunCopies(fs::path folder, ClusterStore& cluster, const Clock& clock, Publish publish)
      : RunCopies(std::move(folder), cluster, clock, std::move(publish), Limits()) {}

  /// A `run` command is about to go to the node: what it sends of that command will be taken.
  Result<void> expect(std::string_view command, std::string_view node);

  struct Outcome {
    std::uint64_t size = 0;  ///< what we have of the file, safely on the disk
    bool taken = false;      ///< false: the offset was not the end of it
    bool complete = false;   ///< the whole run was handed over, now or before
  };
  /// Appends to a file of a run. `usage`: a name that is none, a run.json that is none, more than a run may have;
  /// `not_found`: no such command went to this node; `busy`: this node must complete other copies first. After any
  /// other error the same piece can be sent again.
  Result<Outcome> append(const RunPiece& piece);

  /// Forgets copies that nothing was added to for a month, and commands of three months ago.
  Result<void> forget_stale();

  static constexpr Nanos kKeepCopies = std::chrono::hours(24 * 30);
  static constexpr Nanos kKeepCommands = std::chrono::hours(24 * 90);

 private:
  struct Copy {
    std::uint64_t bytes = 0;
    std::size_t files = 0;
    WallTime last;
  };
  fs::path folder_of(const RunPiece& piece) const { return folder_ / piece.node / piece.run; }
  static Copy look_at(const fs::path& folder);
  Result<Stored<RunCommand>> command_of(const RunPiece& piece);
  Result<void> check_room(const RunPiece& piece);
  Result<Outcome> append_to_file(const RunPiece& piece);
  Result<Outcome> hand_over(const RunPiece& piece, const Outcome& outcome, Stored<RunCommand> command);
  void drop(const RunPiece& piece);

  const fs::path folder_;
  ClusterStore& cluster_;
  const Clock& clock_;
  const Publish publish_;
  const Limits limits_;
  std::mutex mutex_;
  std::map<std::string, std::map<std::string, Copy, std::less<>>, std::less<>> copies_;  ///< by node and run
};

}  // namespace assay
