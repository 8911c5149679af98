#include "core/self_check.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <sstream>

namespace assay::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

double measure_fp32_gflops() {
  constexpr std::int64_t kSize = 512;
  const at::Tensor left = at::randn({kSize, kSize});
  const at::Tensor right = at::randn({kSize, kSize});
  double best = std::numeric_limits<double>::infinity();
  const auto begin = SteadyClock::now();
  // The best of up to 20, within half a second: the first ones pay for thread start-up, others for a busy machine.
  for (int i = 0; i < 20 && (i < 3 || seconds_since(begin) < 0.5); ++i) {
    const auto start = SteadyClock::now();
    const at::Tensor product = at::mm(left, right);
    best = std::min(best, seconds_since(start));
  }
  return 2.0 * kSize * kSize * kSize / best * 1e-9;
}

Bf16Check check_bf16(at::Device device) {
  constexpr std::int64_t kSize = 128;
  // The product is rounded to 8 significant bits, so 2⁻⁸ at least; wrong kernels are wrong by more than this.
  constexpr double kTolerance = 0.02;
  Bf16Check check;
  try {
    const at::Tensor left = at::randn({kSize, kSize}).to(device, at::kBFloat16);
    const at::Tensor right = at::randn({kSize, kSize}).to(device, at::kBFloat16);
    const at::Tensor exact = at::mm(left.to(at::kFloat), right.to(at::kFloat));
    const at::Tensor error = at::mm(left, right).to(at::kFloat).sub(exact).abs();
    check.largest_error = error.max().item<double>() / exact.abs().max().item<double>();
    check.usable = std::isfinite(check.largest_error) && check.largest_error < kTolerance;
    if (!check.usable) check.problem = "bf16 and fp32 products differ";
  } catch (const std::exception& error) {
    check.problem = error.what();
  }
  return check;
}

boost::json::object to_json(const Bf16Check& check) {
  boost::json::object object{{"usable", check.usable}};
  if (std::isfinite(check.largest_error)) object["largest_error"] = check.largest_error;
  if (!check.problem.empty()) object["problem"] = check.problem;
  return object;
}

boost::json::object to_json(const CudaFacts& cuda) {
  boost::json::array devices;
  for (const auto& device : cuda.devices) {
    devices.push_back(boost::json::object{{"uuid", device.uuid},
                                          {"name", device.name},
                                          {"memory_bytes", device.memory_bytes},
                                          {"capability", device.capability}});
  }
  boost::json::object object{{"built", cuda.built}, {"available", cuda.available}, {"devices", std::move(devices)}};
  if (!cuda.toolkit.empty()) object["toolkit"] = cuda.toolkit;
  if (!cuda.problem.empty()) object["problem"] = cuda.problem;
  return object;
}

std::string yes_or(bool yes, const std::string& otherwise) {
  return yes ? "yes" : otherwise.empty() ? "no" : "no: " + otherwise;
}

}  // namespace

SelfCheck check_this_machine() {
  at::manual_seed(1);
  SelfCheck check;
  check.torch = torch_version();
  check.threads = at::get_num_threads();
  check.fp32_gflops = measure_fp32_gflops();
  check.blas = blas_in_use();
  check.bf16_cpu = check_bf16(at::kCPU);
  check.cuda = cuda_facts();
  if (check.cuda.available) check.bf16_cuda = check_bf16(at::kCUDA);
  check.gloo = has_gloo();
  check.nccl = has_nccl();
  check.nccl_version = nccl_version();
  return check;
}

boost::json::object to_json(const SelfCheck& check) {
  boost::json::object blas{{"name", check.blas.name}, {"fp32_gflops", check.fp32_gflops}};
  if (!check.blas.library.empty()) blas["library"] = check.blas.library;
  boost::json::object bf16{{"cpu", to_json(check.bf16_cpu)}};
  if (check.bf16_cuda) bf16["cuda"] = to_json(*check.bf16_cuda);
  boost::json::object object{{"engine", ASSAY_ENGINE_VERSION},
                             {"torch", check.torch},
                             {"threads", check.threads},
                             {"blas", std::move(blas)},
                             {"bf16", std::move(bf16)},
                             {"cuda", to_json(check.cuda)},
                             {"gloo", check.gloo},
                             {"nccl", check.nccl}};
  if (!check.nccl_version.empty()) object["nccl_version"] = check.nccl_version;
  return object;
}

std::string to_text(const SelfCheck& check) {
  std::ostringstream text;
  text << "assay-engine " << ASSAY_ENGINE_VERSION << ", LibTorch " << check.torch << '\n'
       << "threads      " << check.threads << '\n'
       << "BLAS         " << check.blas.name << ", " << std::lround(check.fp32_gflops) << " GFLOP/s in fp32\n"
       << "bf16 on CPU  " << yes_or(check.bf16_cpu.usable, check.bf16_cpu.problem) << '\n'
       << "CUDA         " << yes_or(check.cuda.available, check.cuda.built ? check.cuda.problem : "built without CUDA")
       << '\n';
  for (const auto& device : check.cuda.devices) {
    text << "             " << device.name << ", " << (device.memory_bytes >> 30) << " GiB, capability "
         << device.capability << ", " << device.uuid << '\n';
  }
  if (check.bf16_cuda) text << "bf16 on CUDA " << yes_or(check.bf16_cuda->usable, check.bf16_cuda->problem) << '\n';
  text << "Gloo         " << (check.gloo ? "yes" : "no") << '\n'
       << "NCCL         " << (check.nccl ? "yes " : "no") << check.nccl_version << '\n';
  return text.str();
}

}  // namespace assay::engine
