#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "launch/hosted/relay_line.h"

namespace assay {

// The files of a folder as frames: a record with path and size, then its bytes. Folders are made as they are needed;
// what is neither a file nor a folder stays where it is.

/// Sends them piece by piece. Not thread-safe.
class FileSender {
 public:
  /// A missing folder is an empty one.
  explicit FileSender(fs::path folder);

  /// Appends lines, about so many bytes of them. False once there is nothing more to send.
  Result<bool> step(std::string& lines, std::size_t about);

 private:
  fs::path folder_;
  std::vector<fs::path> files_;  ///< still to be sent
  FileDescriptor open_;
  std::uint64_t sent_ = 0;  ///< of the open one
};

/// Puts them into a folder. Paths that would lead out of it are refused. Not thread-safe.
class FileReceiver {
 public:
  explicit FileReceiver(fs::path folder) : folder_(std::move(folder)) {}

  /// The beginning of a file. One that was there before this receiver stays as it is.
  Result<void> begin(std::string_view record);
  Result<void> add(const RelayFrame& bytes);

 private:
  fs::path folder_;
  FileDescriptor open_;
  bool passed_over_ = false;
  std::set<std::string> mine_;  ///< that were begun here, perhaps by a sending that broke off
};

}  // namespace assay
