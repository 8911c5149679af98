#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "launch/hosted/job_folder.h"
#include "launch/job_stream.h"

namespace assay {

/// One node's part of a job that is hosted elsewhere, as its owner sees it: however the bytes get here. One thread at a
/// time. Destroying it lets go of the part, which goes on.
class JobPart {
 public:
  virtual ~JobPart() = default;

  /// Takes notice of what is new; does not wait for anything.
  virtual void look() = 0;
  /// Becomes readable when it is worth while to look again; -1: only looking from time to time tells.
  virtual int wake_fd() const = 0;

  // What is known since the last `look`.
  virtual bool has_bytes(JobStream stream) const = 0;
  /// Every byte was read, and no more will come.
  virtual bool at_end(JobStream stream) const = 0;
  /// 0: none at the moment.
  virtual std::size_t read(JobStream stream, std::span<char> into) = 0;
  /// Who hosts it, once its processes were started.
  virtual const std::optional<HostRecord>& host() const = 0;
  /// How it ended; what it left in its artifacts is here by then.
  virtual const std::optional<PartEnding>& ending() const = 0;

  /// Tells its host. One that cannot be told at the moment is told later.
  virtual void wish(JobWish::Kind kind, Nanos grace) = 0;
};

}  // namespace assay
