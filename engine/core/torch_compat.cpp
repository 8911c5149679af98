#include "core/torch_compat.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <torch/version.h>

#include <new>

#include "formats/failure.h"

#ifdef ASSAY_ENGINE_CUDA
#include <ATen/cuda/CUDAContext.h>
#endif

namespace assay::engine {
namespace {

constexpr bool kTorch2 = TORCH_VERSION_MAJOR >= 2;

#if TORCH_VERSION_MAJOR < 2
/// Each key/value head as often as query heads share it.
at::Tensor repeat_heads(const at::Tensor& x, std::int64_t times) {
  if (times == 1) return x;
  return x.unsqueeze(2)
      .expand({x.size(0), x.size(1), times, x.size(2), x.size(3)})
      .reshape({x.size(0), x.size(1) * times, x.size(2), x.size(3)});
}
#endif

[[noreturn]] void refuse(Attention kind, const std::string& reason) {
  throw Failure("unsupported", "attention '" + std::string(name_of(kind)) + "' is not possible here: " + reason,
                "Use `attention: sdpa`, which takes the fastest kernel that this device has.");
}

}  // namespace

at::Tensor torch_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal, double dropout) {
#if TORCH_VERSION_MAJOR >= 2
  const bool grouped = q.size(1) != k.size(1);
  return at::scaled_dot_product_attention(q, k, v, {}, dropout, causal, std::nullopt, grouped);
#else
  const std::int64_t times = q.size(1) / k.size(1);
  return std::get<0>(
      at::_scaled_dot_product_attention(q, repeat_heads(k, times), repeat_heads(v, times), {}, dropout, false, causal));
#endif
}

void choose_attention(Attention kind, at::Device device, at::ScalarType type) {
  const bool fused = kind == Attention::flash || kind == Attention::efficient || kind == Attention::cudnn;
  if (fused && !device.is_cuda()) refuse(kind, "the CPU has no such kernel");
  if (fused && !kTorch2) refuse(kind, "this LibTorch (" + std::string(TORCH_VERSION) + ") has no such kernel");
  if ((kind == Attention::flash || kind == Attention::cudnn) && type == at::kFloat) {
    refuse(kind, "it computes in bf16 and fp16 only");
  }
#if TORCH_VERSION_MAJOR >= 2 && defined(ASSAY_ENGINE_CUDA)
  if (!device.is_cuda()) return;
  const int capability = at::cuda::getDeviceProperties(device.index())->major;
  if (kind == Attention::flash && capability < 8) refuse(kind, "it needs a GPU of capability 8.0 or newer");
  if (kind == Attention::cudnn && capability < 8) refuse(kind, "it needs a GPU of capability 8.0 or newer");
  auto& context = at::globalContext();
  const bool any = kind == Attention::sdpa;
  context.setSDPUseFlash(any || kind == Attention::flash);
  context.setSDPUseMemEfficient(any || kind == Attention::efficient);
  context.setSDPUseCuDNN((any && capability >= 9) || kind == Attention::cudnn);
  context.setSDPUseMath(any || kind == Attention::math);
  if (any && capability >= 9) {
    using at::SDPBackend;
    // On Hopper cuDNN's kernel is the fastest, which LibTorch does not put first by itself.
    context.setSDPPriorityOrder(
        {static_cast<std::int64_t>(SDPBackend::cudnn_attention), static_cast<std::int64_t>(SDPBackend::flash_attention),
         static_cast<std::int64_t>(SDPBackend::efficient_attention), static_cast<std::int64_t>(SDPBackend::math)});
  }
#endif
}

void choose_matrix_precision(bool tf32) {
  auto& context = at::globalContext();
  context.setAllowTF32CuBLAS(tf32);
  context.setAllowTF32CuDNN(tf32);
  context.setBenchmarkCuDNN(true);
}

bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error)) return true;
  const std::string message = error.what();
  for (const char* sign : {"out of memory", "can't allocate memory", "Cannot allocate memory", "not enough memory"}) {
    if (message.find(sign) != std::string::npos) return true;
  }
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr;
}

std::string brief_message(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  std::string message = torch_error ? torch_error->what_without_backtrace() : error.what();
  if (const auto end = message.find("\nException raised from"); end != std::string::npos) message.resize(end);
  return message;
}

}  // namespace assay::engine
