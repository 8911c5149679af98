#include <algorithm>
#include <array>

#include "base/text.h"
#include "redact/redact.h"
#include "redact/secret_names.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 28> kPrefixes = {
    "CUBLAS_",  "CUDA_",        "CUDNN_", "FI_",     "GLOO_",   "GOMP_",          "HIP_",
    "HSA_",     "IBV_",         "KMP_",   "MIOPEN_", "MKL_",    "MPICH_",         "NCCL_",
    "NUMEXPR_", "NVIDIA_TF32_", "NVTE_",  "OMP_",    "ONEDNN_", "OPENBLAS_",      "BLIS_",
    "PYTORCH_", "RCCL_",        "ROCR_",  "TF32_",   "TORCH_",  "TORCHINDUCTOR_", "UCX_"};

constexpr std::array<std::string_view, 17> kNames = {"ACCELERATE_MIXED_PRECISION",
                                                     "CONDA_DEFAULT_ENV",
                                                     "DNNL_MAX_CPU_ISA",
                                                     "GPU_DEVICE_ORDINAL",
                                                     "HF_DATASETS_OFFLINE",
                                                     "HF_HUB_OFFLINE",
                                                     "LANG",
                                                     "LC_ALL",
                                                     "MALLOC_ARENA_MAX",
                                                     "NVIDIA_VISIBLE_DEVICES",
                                                     "NVIDIA_DRIVER_CAPABILITIES",
                                                     "PYTHONHASHSEED",
                                                     "PYTHONUNBUFFERED",
                                                     "TOKENIZERS_PARALLELISM",
                                                     "TRANSFORMERS_OFFLINE",
                                                     "TZ",
                                                     "XLA_FLAGS"};

/// Where programs, libraries and the user's files are.
constexpr std::array<std::string_view, 18> kPlaces = {
    "ASSAY_ENGINE", "CONDA_PREFIX", "CPATH",   "HF_HOME",     "HOME",           "LD_LIBRARY_PATH",
    "LIBRARY_PATH", "LOGNAME",      "MANPATH", "PATH",        "PYTHONPATH",     "SHELL",
    "TERM",         "TMPDIR",       "USER",    "VIRTUAL_ENV", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"};

/// Wider than what a text is searched for: leaving out a harmless variable costs little here.
bool sounds_secret(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kParts = {"SECRET", "PASSW", "CREDENTIAL", "APIKEY"};
  static constexpr std::array<std::string_view, 5> kWords = {"TOKEN", "KEY", "AUTH", "PASS", "PWD"};
  if (judge_name(name) != NameVerdict::plain) return true;
  for (const auto part : kParts) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  const auto words = split(name, '_');
  return std::any_of(words.begin(), words.end(), [](std::string_view word) {
    return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
  });
}

bool is_shareable(std::string_view name) {
  if (sounds_secret(name) || name.ends_with("PATH")) return false;
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return true;
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

std::map<std::string, std::string> shareable_environment(const std::map<std::string, std::string>& environment) {
  std::map<std::string, std::string> shared;
  for (const auto& [name, value] : environment) {
    if (is_shareable(name)) shared.emplace(name, redact(value));
  }
  return shared;
}

std::map<std::string, std::string> workload_environment(const std::map<std::string, std::string>& environment) {
  std::map<std::string, std::string> given;
  for (const auto& [name, value] : environment) {
    const bool is_place = std::find(kPlaces.begin(), kPlaces.end(), name) != kPlaces.end();
    if ((is_place || is_shareable(name) || name.starts_with("LC_")) && redact(value) == value)
      given.emplace(name, value);
  }
  return given;
}

}  // namespace assay
