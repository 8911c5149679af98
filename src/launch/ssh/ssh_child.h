#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace assay {

/// A running ssh with pipes to it. Ends with this object; and when this process is killed, its input ends, and so does
/// it. One thread at a time.
class SshChild {
 public:
  /// Does not wait for any connection.
  static Result<SshChild> start(const std::vector<std::string>& arguments);
  SshChild(SshChild&& other) noexcept;
  SshChild& operator=(SshChild&&) = delete;
  ~SshChild();

  int in() const { return in_.get(); }    ///< to write to, non-blocking
  int out() const { return out_.get(); }  ///< to read from, non-blocking
  /// What it has said on standard error so far, the last few kilobytes of it.
  const std::string& said();

 private:
  SshChild() = default;

  FileDescriptor in_, out_, error_;
  pid_t pid_ = -1;
  std::string said_;
};

}  // namespace assay
