#pragma once

#include <functional>
#include <optional>
#include <string>

#include "launch/hosted/job_part.h"

namespace assay {

struct FolderPartOptions {
  std::int64_t number = 0;          ///< of the part
  PerStream<std::uint64_t> from{};  ///< bytes of each stream to pass over
  /// Where what the job leaves in its artifacts is copied to; a file that is there already stays. Empty: nowhere.
  fs::path artifacts_to;
  /// Asked while there is no ending, about once a second: the reason if the place knows that there will never be one
  /// (the job was cancelled in its queue, its node is down).
  std::function<std::optional<Error>()> find_loss = [] { return std::optional<Error>(); };
};

/// A part whose folder this machine can read, as over a shared file system. It polls: inotify does not see what another
/// machine writes. Files are opened for each look, since that is when NFS asks the server for news.
class FolderPart final : public JobPart {
 public:
  FolderPart(JobFolder folder, FolderPartOptions options);

  void look() override;
  int wake_fd() const override { return -1; }
  bool has_bytes(JobStream stream) const override { return !fresh_[stream].empty(); }
  bool at_end(JobStream stream) const override { return whole_[stream] && fresh_[stream].empty(); }
  std::size_t read(JobStream stream, std::span<char> into) override;
  const std::optional<HostRecord>& host() const override { return host_; }
  const std::optional<PartEnding>& ending() const override { return ending_; }
  void wish(JobWish::Kind kind, Nanos grace) override;

  /// Where the bytes that `read` gives next stand in the stream.
  std::uint64_t position(JobStream stream) const { return position_[stream]; }

 private:
  void look_for_ending();
  void look_for_bytes(JobStream stream);
  void fetch_artifacts();

  JobFolder folder_;
  FolderPartOptions options_;
  PerStream<std::uint64_t> position_;
  PerStream<std::string> fresh_;  ///< read from the file, not yet by our reader
  PerStream<bool> whole_;
  std::optional<HostRecord> host_;
  std::optional<PartEnding> ending_;
  SteadyTime ask_place_at_;
};

/// Copies the files of one folder into another, links and folders in it included; what is there already stays.
Result<void> copy_missing(const fs::path& from, const fs::path& to);

}  // namespace assay
