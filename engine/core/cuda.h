#pragma once

// CUDA as the rest of the engine sees it. Everything here exists in builds without CUDA as well and then does nothing,
// so that no other file needs to know how it was built.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#ifdef ASSAY_ENGINE_KERNELS
#include "kernels/kernels.h"
#endif

namespace assay::engine {

/// Whether the engine's own kernels can work on this tensor: it is on a GPU and they were built.
bool has_own_kernels(const at::Tensor& tensor);

#ifdef ASSAY_ENGINE_KERNELS
cudaStream_t current_stream();
kernels::Type kernel_type(const at::Tensor& tensor);
#endif

/// Makes `device` and a stream of its own current for this thread, for as long as it lives. (CUDA graphs cannot be
/// recorded on the default stream.) On the CPU: nothing.
class DeviceScope {
 public:
  explicit DeviceScope(at::Device device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A point in time on the current stream; on the CPU, the time of `record`.
class TimePoint {
 public:
  TimePoint();
  ~TimePoint();
  TimePoint(TimePoint&&) noexcept;
  TimePoint& operator=(TimePoint&&) noexcept;

  void record(bool on_device);
  bool reached() const;
  void wait() const;
  /// Both must have been reached.
  double seconds_since(const TimePoint& earlier) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct DeviceMemory {
  std::int64_t allocated_bytes = 0;
  std::int64_t reserved_bytes = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t total_bytes = 0;
};
DeviceMemory device_memory(at::Device device);
void reset_peak_memory(at::Device device);
/// Gives unused memory back, so that an estimate after an out-of-memory error sees what is really free.
void release_cached_memory(at::Device device);
void synchronize(at::Device device);

/// A step recorded once and replayed with one launch.
class RecordedStep {
 public:
  RecordedStep();
  ~RecordedStep();
  /// Runs `work` on the current stream while recording it. What it allocates stays reserved for replays.
  void record(const std::function<void()>& work);
  void replay();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Counts the GPUs that this process can use; 0 in a build without CUDA.
int usable_gpus();

}  // namespace assay::engine
