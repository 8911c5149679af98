#pragma once

#include <ftw.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "data/dataset.h"
#include "formats/failure.h"

namespace assay::engine {

/// A folder of its own for one test, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "assay-data-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    // Not std::filesystem::remove_all: PyTorch's wheel exports one of its own, which crashes.
    const auto remove = [](const char* path, const struct stat*, int, struct FTW*) { return std::remove(path); };
    ::nftw(path_.c_str(), remove, 16, FTW_DEPTH | FTW_PHYS);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string write(const std::string& name, std::string_view content) const {
    const std::string path = path_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

 private:
  std::string path_;
};

inline Batch samples_of(const Dataset& dataset, const std::vector<std::int64_t>& indices) {
  Batch batch = allocate_batch(dataset.shape(), std::ssize(indices), false);
  dataset.fill(indices, batch);
  return batch;
}

template <typename T>
std::vector<T> values(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.contiguous();
  return {dense.data_ptr<T>(), dense.data_ptr<T>() + dense.numel()};
}

inline std::vector<std::int64_t> integers(const at::Tensor& tensor) { return values<std::int64_t>(tensor); }

/// One number for all the content, to pin what must never change unnoticed.
inline std::uint64_t digest(const Batch& batch) {
  std::string bytes;
  for (const at::Tensor& tensor : {batch.inputs.contiguous(), batch.targets.contiguous()}) {
    bytes.append(static_cast<const char*>(tensor.data_ptr()), static_cast<std::size_t>(tensor.nbytes()));
  }
  return stable_hash(bytes);
}

/// The failure that `action` ends with; one of kind "none" if it does not fail.
template <typename Action>
Failure failure_of(Action&& action) {
  try {
    action();
  } catch (const Failure& failure) {
    return failure;
  }
  return {"none", ""};
}

}  // namespace assay::engine
