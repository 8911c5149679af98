#pragma once

#include "base/files.h"

namespace assay {

/// While it lives, SIGINT, SIGTERM and SIGHUP do not end the program: each puts one byte into a pipe. One at a time.
class StopSignals {
 public:
  /// What SIGHUP means: a terminal that was closed, or, to a service, that its files have changed.
  enum class OnHangup { stop, reload };
  explicit StopSignals(OnHangup hangup = OnHangup::stop);
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// Readable once per signal: `i` for SIGINT, `r` to reload, `s` for the others.
  int fd() const { return read_.get(); }
  /// Whether a signal to stop has come, also if its byte was read already.
  bool requested() const;

 private:
  FileDescriptor read_, write_;
};

}  // namespace assay
