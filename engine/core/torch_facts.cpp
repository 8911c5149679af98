#include "core/torch_facts.h"

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>

#ifdef ASSAY_ENGINE_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime_api.h>
#endif

namespace assay::engine {
namespace {

/// The value of `KEY=value, ` in LibTorch's description of itself.
std::string setting_of(const std::string& config, const std::string& key) {
  const auto start = config.find(key + "=");
  if (start == std::string::npos) return {};
  const auto value = start + key.size() + 1;
  return config.substr(value, config.find_first_of(", \n", value) - value);
}

#ifdef ASSAY_ENGINE_CUDA
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += digits;
  }
  return text;
}

std::string major_minor(int thousands) {
  return std::to_string(thousands / 1000) + '.' + std::to_string(thousands % 1000 / 10);
}
#endif

bool symbol_present(const char* name) { return dlsym(RTLD_DEFAULT, name) != nullptr; }

}  // namespace

std::string torch_version() { return TORCH_VERSION; }

CudaFacts cuda_facts() {
  CudaFacts facts;
#ifdef ASSAY_ENGINE_CUDA
  facts.built = true;
  facts.toolkit = major_minor(CUDART_VERSION);
  int count = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess) {
    facts.problem = cudaGetErrorString(code);
    return facts;
  }
  try {
    for (int i = 0; i < count; ++i) {
      const cudaDeviceProp* properties = at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(i));
      facts.devices.push_back(
          {.uuid = uuid_text(properties->uuid),
           .name = properties->name,
           .memory_bytes = static_cast<std::int64_t>(properties->totalGlobalMem),
           .capability = std::to_string(properties->major) + '.' + std::to_string(properties->minor)});
    }
    facts.available = count > 0 && at::hasCUDA();
    if (count == 0) facts.problem = "no CUDA device is visible";
  } catch (const std::exception& error) {
    facts.problem = error.what();
  }
#endif
  return facts;
}

Blas blas_in_use() {
  std::ostringstream maps;
  maps << std::ifstream("/proc/self/maps").rdbuf();
  return blas_from(maps.str(), at::hasMKL() ? "mkl" : setting_of(at::show_config(), "BLAS_INFO"));
}

// The type information of the class is exported by every LibTorch that was built with it, 1.13 to 2.11 alike, while
// the build flags are not visible to users of the library.
bool has_gloo() { return symbol_present("_ZTIN4c10d16ProcessGroupGlooE"); }
bool has_nccl() { return symbol_present("_ZTIN4c10d16ProcessGroupNCCLE"); }

std::string nccl_version() {
  using GetVersion = int (*)(int*);
  const auto get_version = reinterpret_cast<GetVersion>(dlsym(RTLD_DEFAULT, "ncclGetVersion"));
  int version = 0;
  if (!get_version || get_version(&version) != 0) return {};
  return std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + '.' +
         std::to_string(version % 100);
}

}  // namespace assay::engine
