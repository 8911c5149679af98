// libFuzzer entry: whatever the bytes, they are refused with a Failure, or every tensor lies inside the file and has
// the size that its shape asks for, and together they are all of the data.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "formats/failure.h"
#include "formats/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    const std::byte* expected = nullptr;
    for (const auto& tensor : assay::engine::parse_safetensors(file, "fuzz")) {
      if (assay::engine::tensor_bytes(tensor.dtype, tensor.shape) != tensor.data.size()) std::abort();
      if (expected && tensor.data.data() != expected) std::abort();
      expected = tensor.data.data() + tensor.data.size();
      if (tensor.data.data() < file.data() || expected > file.data() + file.size()) std::abort();
    }
    if (expected && expected != file.data() + file.size()) std::abort();
  } catch (const assay::engine::Failure& failure) {
    if (failure.kind() != "bad_file" || failure.hint().empty()) std::abort();
  }
  return 0;
}
