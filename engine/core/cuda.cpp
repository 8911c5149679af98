#include "core/cuda.h"

#include <chrono>

#include "formats/failure.h"

#ifdef ASSAY_ENGINE_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#endif

namespace assay::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

#ifdef ASSAY_ENGINE_CUDA
void check(cudaError_t code, const char* what) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(code));
}
#endif

}  // namespace

bool has_own_kernels([[maybe_unused]] const at::Tensor& tensor) {
#ifdef ASSAY_ENGINE_KERNELS
  return tensor.is_cuda();
#else
  return false;
#endif
}

#ifdef ASSAY_ENGINE_KERNELS
cudaStream_t current_stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

kernels::Type kernel_type(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat: return kernels::Type::f32;
    case at::kBFloat16: return kernels::Type::bf16;
    case at::kHalf: return kernels::Type::f16;
    default: throw std::logic_error("no kernel for this number format");
  }
}
#endif

#ifdef ASSAY_ENGINE_CUDA

struct DeviceScope::State {
  explicit State(at::Device device) : guard(c10::cuda::getStreamFromPool(true, device.index())) {}
  c10::cuda::CUDAStreamGuard guard;
};

DeviceScope::DeviceScope(at::Device device) {
  if (device.is_cuda()) state_ = std::make_unique<State>(device);
}

struct TimePoint::State {
  cudaEvent_t event = nullptr;
  SteadyClock::time_point host;
  bool on_device = false;

  ~State() {
    if (event) cudaEventDestroy(event);
  }
};

void TimePoint::record(bool on_device) {
  state_->on_device = on_device;
  state_->host = SteadyClock::now();
  if (!on_device) return;
  if (!state_->event) check(cudaEventCreate(&state_->event), "creating an event");
  check(cudaEventRecord(state_->event, c10::cuda::getCurrentCUDAStream().stream()), "recording an event");
}

bool TimePoint::reached() const {
  if (!state_->on_device) return true;
  const cudaError_t code = cudaEventQuery(state_->event);
  if (code == cudaErrorNotReady) return false;
  check(code, "a kernel failed");
  return true;
}

void TimePoint::wait() const {
  if (state_->on_device) check(cudaEventSynchronize(state_->event), "a kernel failed");
}

double TimePoint::seconds_since(const TimePoint& earlier) const {
  if (!state_->on_device || !earlier.state_->on_device) {
    return std::chrono::duration<double>(state_->host - earlier.state_->host).count();
  }
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, earlier.state_->event, state_->event), "reading an event");
  return milliseconds * 1e-3;
}

DeviceMemory device_memory(at::Device device) {
  if (!device.is_cuda()) return {};
  using c10::CachingAllocator::StatType;
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device.index());
  const auto all = static_cast<std::size_t>(StatType::AGGREGATE);
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free memory");
  return {stats.allocated_bytes[all].current, stats.reserved_bytes[all].current, stats.allocated_bytes[all].peak,
          static_cast<std::int64_t>(total)};
}

void reset_peak_memory(at::Device device) {
  if (device.is_cuda()) c10::cuda::CUDACachingAllocator::resetPeakStats(device.index());
}

void release_cached_memory(at::Device device) {
  if (device.is_cuda()) c10::cuda::CUDACachingAllocator::emptyCache();
}

void synchronize(at::Device device) {
  if (device.is_cuda()) check(cudaDeviceSynchronize(), "a kernel failed");
}

struct RecordedStep::State {
  at::cuda::CUDAGraph graph;
};

void RecordedStep::record(const std::function<void()>& work) {
  // Other threads may go on allocating page-locked memory meanwhile.
  state_->graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
  try {
    work();
  } catch (...) {
    // The stream must leave capture mode before anything else can run on it; its own complaint is of no interest.
    try {
      state_->graph.capture_end();
    } catch (const std::exception&) {
    }
    throw;
  }
  state_->graph.capture_end();
}

void RecordedStep::replay() { state_->graph.replay(); }

int usable_gpus() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

#else

struct DeviceScope::State {};
DeviceScope::DeviceScope(at::Device) {}

struct TimePoint::State {
  SteadyClock::time_point host;
};
void TimePoint::record(bool) { state_->host = SteadyClock::now(); }
bool TimePoint::reached() const { return true; }
void TimePoint::wait() const {}
double TimePoint::seconds_since(const TimePoint& earlier) const {
  return std::chrono::duration<double>(state_->host - earlier.state_->host).count();
}

DeviceMemory device_memory(at::Device) { return {}; }
void reset_peak_memory(at::Device) {}
void release_cached_memory(at::Device) {}
void synchronize(at::Device) {}

struct RecordedStep::State {};
void RecordedStep::record(const std::function<void()>&) {
  throw Failure("unsupported", "CUDA graphs need a GPU", "Set `cuda_graphs: off`.");
}
void RecordedStep::replay() {}
int usable_gpus() { return 0; }

#endif

DeviceScope::~DeviceScope() = default;
TimePoint::TimePoint() : state_(std::make_unique<State>()) {}
TimePoint::~TimePoint() = default;
TimePoint::TimePoint(TimePoint&&) noexcept = default;
TimePoint& TimePoint::operator=(TimePoint&&) noexcept = default;
RecordedStep::RecordedStep() : state_(std::make_unique<State>()) {}
RecordedStep::~RecordedStep() = default;

}  // namespace assay::engine
