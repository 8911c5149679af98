#pragma once

#include <optional>
#include <string>

#include "launch/hosted/file_relay.h"
#include "launch/hosted/folder_part.h"
#include "launch/hosted/relay_line.h"
#include "launch/job.h"

namespace assay {

/// A part of a job in a folder of this machine as lines for its owner elsewhere: the order, the host, the streams from
/// the given offsets on, once it has ended the files of its artifacts, and at last the ending. Not thread-safe.
class PartRelay {
 public:
  PartRelay(const JobFolder& folder, std::int64_t part, const PerStream<std::uint64_t>& from);

  /// Appends what is new, about so many bytes of it. False once the ending was appended.
  Result<bool> step(std::string& lines, std::size_t about);

 private:
  JobFolder folder_;
  FolderPart part_;
  bool order_sent_ = false;
  bool host_sent_ = false;
  std::optional<FileSender> files_;
  bool ended_ = false;
};

/// What such a relay sends, put together again; the other end of the pipe. Not thread-safe.
class RelayInbox {
 public:
  /// `artifacts_to`: as in `FolderPartOptions`; absent: where the order says.
  explicit RelayInbox(const PerStream<std::uint64_t>& from, std::optional<fs::path> artifacts_to = {});

  /// The next bytes from the pipe. Streams that come again after a new beginning are passed over as far as they are
  /// known. Errors: `bad_file` (damage, a gap in a stream), those of writing artifacts; what a relay says instead of
  /// anything else (`not_found`, `busy`).
  Result<void> take(std::string_view text);
  /// The pipe broke; what comes next is a new one, whose relay was asked to begin at `position`.
  void begin_again();

  /// Where the bytes that come next stand in the streams.
  const PerStream<std::uint64_t>& position() const { return position_; }
  std::string& bytes(JobStream stream) { return bytes_[stream]; }  ///< for the reader to take from the front
  const std::string& bytes(JobStream stream) const { return bytes_[stream]; }
  /// How much is waiting for the reader: whoever fills it stops at some measure.
  std::size_t waiting() const;
  const std::optional<Job>& order() const { return order_; }
  const std::optional<HostRecord>& host() const { return host_; }
  const std::optional<PartEnding>& ending() const { return ending_; }

 private:
  Result<void> take_frame(const RelayFrame& frame);
  Result<void> take_bytes(JobStream stream, const RelayFrame& frame);
  Result<void> take_record(const RelayFrame& frame);
  FileReceiver& files();

  PerStream<std::uint64_t> position_;
  PerStream<std::string> bytes_;
  std::optional<fs::path> artifacts_to_;
  std::optional<FileReceiver> files_;
  std::optional<Job> order_;
  std::optional<HostRecord> host_;
  std::optional<PartEnding> ending_;
  RelayReader reader_;
};

/// Relays a part to an owner at the other end of two descriptors, whose wishes it writes down, until the ending was
/// sent, the owner is gone (end of `in_fd`) or was silent for a minute. As the owner's stand-in it holds the owner's
/// lock. What keeps it from relaying at all it says to the owner. Blocks; one thread.
Result<void> relay_to_owner(const JobFolder& folder, std::int64_t part, const PerStream<std::uint64_t>& from, int in_fd,
                            int out_fd);

/// Says why there is nothing to relay.
std::string problem_lines(const Error& error);

}  // namespace assay
