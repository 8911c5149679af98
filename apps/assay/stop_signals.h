#pragma once

#include "base/files.h"

namespace assay {

/// While it lives, SIGINT, SIGTERM and SIGHUP do not end the program: each puts one byte into a pipe. One at a time.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// Readable once per signal: `i` for SIGINT, `s` for the others.
  int fd() const { return read_.get(); }
  /// Whether any signal has come, also if its byte was read already.
  bool requested() const;

 private:
  FileDescriptor read_, write_;
};

}  // namespace assay
