#pragma once

#include <memory>
#include <string>

namespace assay::engine {

/// Records what LibTorch and the GPU do, from construction to `write`, as a Chrome trace that Perfetto opens.
/// One at a time in a process; begins and ends on the thread that trains.
class Trace {
 public:
  explicit Trace(bool with_gpu);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Ends the recording. Throws Failure `io` where the file cannot be written.
  void write(const std::string& path);

 private:
  bool recording_ = true;
};

}  // namespace assay::engine
