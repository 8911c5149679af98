#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace assay {

/// The SHA-256 of bytes that come piece by piece. Not thread-safe.
class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  /// 64 hexadecimal digits, of all that was added. Once; nothing may be added afterwards.
  std::string digits();

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;
};

}  // namespace assay
