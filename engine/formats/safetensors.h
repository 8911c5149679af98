#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/mapped_file.h"

namespace assay::engine {

enum class Dtype { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };

std::size_t size_of(Dtype);       ///< bytes per element
std::string_view name_of(Dtype);  ///< as in files: "BF16"
/// Empty: an extent is negative, or the bytes are more than 64 bits can count.
std::optional<std::uint64_t> tensor_bytes(Dtype dtype, std::span<const std::int64_t> shape);

/// A tensor that lies somewhere else, in row-major order and little-endian. The data of a file may start at any
/// address: copy it before reading elements that are larger than a byte.
struct TensorView {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
};

/// The tensors of a safetensors file whose content is `bytes`, in the order of their data; the views point into
/// `bytes`. Everything is checked, so that whoever uses a view need not: `data` has the size that shape and dtype ask
/// for, and every byte behind the header belongs to exactly one tensor. Throws Failure `bad_file` that names `file`,
/// the tensor and what is wrong.
std::vector<TensorView> parse_safetensors(std::span<const std::byte> bytes, const std::string& file);

/// A safetensors file, mapped into memory: opening reads the header only. The views live as long as this object,
/// wherever it is moved. See MappedFile for what happens when the file is changed meanwhile.
class SafetensorsFile {
 public:
  /// Throws what MappedFile and parse_safetensors throw.
  explicit SafetensorsFile(const std::string& path);

  const std::vector<TensorView>& tensors() const { return tensors_; }
  const TensorView* find(std::string_view name) const;  ///< null: there is none

 private:
  MappedFile file_;
  std::vector<TensorView> tensors_;
  std::unordered_map<std::string_view, const TensorView*> by_name_;  // into tensors_, whose elements never move
};

/// Writes `tensors` as a safetensors file: all of it or, after a failure, nothing; a file that was there is replaced at
/// once, so that readers see the old or the new one. Large elements come first, which aligns all of them. Throws
/// Failure `missing_file` (no such folder), `denied` or `io`; std::invalid_argument for a name that is taken or
/// reserved, and for data that does not fit the shape.
void write_safetensors(const std::string& path, std::span<const TensorView> tensors);

}  // namespace assay::engine
