#include "probe/probe.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <thread>

#include "core/cuda.h"
#include "core/torch_compat.h"
#include "core/torch_facts.h"

namespace assay::engine {
namespace {

// 8192³ fills any GPU; a CPU core needs some 10 ms for 1024³.
constexpr std::int64_t kGpuMatrix = 8192;
constexpr std::int64_t kCpuMatrix = 1024;
constexpr std::int64_t kGpuCopyBytes = std::int64_t{4} << 30;
constexpr std::int64_t kCpuCopyBytes = std::int64_t{256} << 20;
constexpr std::int64_t kAllReduceBytes = std::int64_t{64} << 20;
constexpr std::int64_t kTransferBytes = std::int64_t{1} << 30;

// Clocks rise within some tenths of a second; timings of less than this would mostly measure the launch.
constexpr double kGpuWarmUpSeconds = 0.4;
constexpr double kShortestTiming = 0.01;
constexpr int kTimings = 7;

/// Seconds of one `work`: the median of several timings, each of as many in a row as it takes to be measurable.
double median_seconds(at::Device device, const std::function<void()>& work) {
  const auto timed = [&](int repeats) {
    TimePoint begin;
    TimePoint end;
    begin.record(device.is_cuda());
    for (int i = 0; i < repeats; ++i) work();
    end.record(device.is_cuda());
    end.wait();
    return end.seconds_since(begin) / repeats;
  };
  timed(1);
  double warm_up = device.is_cuda() ? kGpuWarmUpSeconds : 0;
  double once = timed(1);
  while (warm_up > 0) {
    const int repeats = std::max(1, static_cast<int>(0.05 / once));
    once = timed(repeats);
    warm_up -= once * repeats;
  }
  const int repeats = std::max(1, static_cast<int>(kShortestTiming / once));
  std::vector<double> times;
  for (int i = 0; i < kTimings; ++i) times.push_back(timed(repeats));
  std::nth_element(times.begin(), times.begin() + kTimings / 2, times.end());
  return times[kTimings / 2];
}

/// Seconds of one `work` at the device's best: several products on end heat it up until it lowers its clocks, so the
/// fastest of a few short bursts with rests in between is its peak.
double best_burst_seconds(at::Device device, const std::function<void()>& work) {
  constexpr int kBursts = 6;
  constexpr int kWarmUps = 3;
  constexpr int kTimed = 10;
  double best = std::numeric_limits<double>::infinity();
  for (int burst = 0; burst < kBursts; ++burst) {
    for (int i = 0; i < kWarmUps; ++i) work();
    TimePoint begin;
    TimePoint end;
    begin.record(true);
    for (int i = 0; i < kTimed; ++i) work();
    end.record(true);
    end.wait();
    best = std::min(best, end.seconds_since(begin) / kTimed);
    synchronize(device);
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
  }
  return best;
}

at::ScalarType format_of(Precision precision) {
  if (precision == Precision::bf16 || precision == Precision::bf16_all) return at::kBFloat16;
  if (precision == Precision::fp16 || precision == Precision::fp16_all) return at::kHalf;
  return at::kFloat;
}

double copy_rate(at::Device device) {
  const std::int64_t bytes = device.is_cuda() ? kGpuCopyBytes : kCpuCopyBytes;
  const auto options = at::TensorOptions().device(device).dtype(at::kFloat);
  const at::Tensor from = at::rand({bytes / 4}, options);
  const at::Tensor to = at::empty_like(from);
  return 2.0 * static_cast<double>(bytes) / median_seconds(device, [&] { to.copy_(from); });
}

double transfer_rate(at::Device device, bool to_device) {
  const auto host_options = at::TensorOptions().dtype(at::kByte).pinned_memory(true);
  const at::Tensor host = at::empty({kTransferBytes}, host_options).fill_(7);
  const at::Tensor there = at::empty({kTransferBytes}, at::TensorOptions().device(device).dtype(at::kByte)).fill_(7);
  const double seconds = median_seconds(device, [&] {
    if (to_device) {
      there.copy_(host, true);
    } else {
      host.copy_(there, true);
    }
  });
  return static_cast<double>(kTransferBytes) / seconds;
}

std::string rate(double per_second, const char* unit) {
  char text[64];
  if (per_second >= 1e12) {
    std::snprintf(text, sizeof(text), "%.4g T%s", per_second * 1e-12, unit);
  } else {
    std::snprintf(text, sizeof(text), "%.4g G%s", per_second * 1e-9, unit);
  }
  return text;
}

}  // namespace

double matrix_flops_per_second(at::Device device, Precision precision) {
  const std::int64_t size = device.is_cuda() ? kGpuMatrix : kCpuMatrix;
  choose_matrix_precision(precision == Precision::tf32);
  const auto options = at::TensorOptions().device(device);
  const at::Tensor left = at::randn({size, size}, options).to(format_of(precision));
  const at::Tensor right = at::randn({size, size}, options).to(format_of(precision));
  at::Tensor out = at::empty_like(left);
  const double work = 2.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
  const auto multiply = [&] { at::mm_out(out, left, right); };
  return work / (device.is_cuda() ? best_burst_seconds(device, multiply) : median_seconds(device, multiply));
}

Ceilings measure_ceilings(at::Device device) {
  Ceilings ceilings;
  const CudaFacts cuda = cuda_facts();
  ceilings.device = device.is_cuda() ? cuda.devices[static_cast<std::size_t>(device.index())].name : "CPU";
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16}) {
    MatrixRate result{.precision = precision};
    const bool only_gpu = precision == Precision::tf32 || precision == Precision::fp16;
    if (only_gpu && !device.is_cuda()) {
      result.problem = "the CPU has no such products";
    } else {
      try {
        result.flops_per_second = matrix_flops_per_second(device, precision);
      } catch (const std::exception& error) {
        result.problem = brief_message(error);
      }
    }
    ceilings.matrix.push_back(result);
  }
  ceilings.memory_bytes_per_second = copy_rate(device);
  if (device.is_cuda()) {
    ceilings.host_to_device = transfer_rate(device, true);
    ceilings.device_to_host = transfer_rate(device, false);
  }
  return ceilings;
}

double all_reduce_bytes_per_second(Group& group, at::Device device) {
  const at::Tensor values = at::ones({kAllReduceBytes / 4}, at::TensorOptions().device(device).dtype(at::kFloat));
  const double seconds = median_seconds(device, [&] {
    group.start_mean(values);
    group.finish();
  });
  return static_cast<double>(kAllReduceBytes) / seconds;
}

boost::json::object to_json(const Ceilings& ceilings) {
  boost::json::object matrix;
  for (const auto& result : ceilings.matrix) {
    if (result.problem.empty()) {
      matrix[name_of(result.precision)] = result.flops_per_second;
    } else {
      matrix[name_of(result.precision)] = nullptr;
    }
  }
  boost::json::object object{{"device", ceilings.device},
                             {"matrix_flops_per_second", std::move(matrix)},
                             {"memory_bytes_per_second", ceilings.memory_bytes_per_second}};
  if (ceilings.host_to_device) object["host_to_device_bytes_per_second"] = *ceilings.host_to_device;
  if (ceilings.device_to_host) object["device_to_host_bytes_per_second"] = *ceilings.device_to_host;
  return object;
}

std::string to_text(const Ceilings& ceilings) {
  std::string text = "device          " + ceilings.device + "\n";
  for (const auto& result : ceilings.matrix) {
    text += "matrix " + std::string(name_of(result.precision)) + "     " +
            (result.problem.empty() ? rate(result.flops_per_second, "FLOP/s") : "no: " + result.problem) + "\n";
  }
  text += "memory copy     " + rate(ceilings.memory_bytes_per_second, "B/s") + " (read + written)\n";
  if (ceilings.host_to_device) text += "host to device  " + rate(*ceilings.host_to_device, "B/s") + "\n";
  if (ceilings.device_to_host) text += "device to host  " + rate(*ceilings.device_to_host, "B/s") + "\n";
  return text;
}

}  // namespace assay::engine
