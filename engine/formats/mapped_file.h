#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace assay::engine {

/// A whole file in memory, read-only and without a copy: pages come from the disk when they are touched.
/// Somebody who shortens the file meanwhile takes the process down (SIGBUS) when a page that is gone is touched;
/// replacing the file by renaming another over it is harmless. Moving keeps the addresses.
class MappedFile {
 public:
  /// Throws Failure `missing_file`, `denied`, `io`, or `bad_file` for what is not a regular file.
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {start_, size_}; }
  std::string_view text() const;

 private:
  const std::byte* start_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace assay::engine
