#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

/// LEB128: seven bits a byte, least significant first; at most ten bytes.
inline void put_varint(std::string& out, std::uint64_t number) {
  while (number >= 0x80) {
    out.push_back(static_cast<char>(number | 0x80));
    number >>= 7;
  }
  out.push_back(static_cast<char>(number));
}

/// Small magnitudes of either sign become small numbers.
inline std::uint64_t zigzag(std::uint64_t number) { return (number << 1) ^ (0 - (number >> 63)); }
inline std::uint64_t unzigzag(std::uint64_t number) { return (number >> 1) ^ (0 - (number & 1)); }

/// Takes numbers off the front of bytes that may be damaged. The first failure sticks: later reads give zeros, so a
/// reader can be written straight down and checked once.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t varint() {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const std::uint64_t byte = this->byte();
      // The tenth byte has room for one bit only.
      if (shift == 63 && byte > 1) break;
      number |= (byte & 0x7F) << shift;
      if (byte < 0x80) return ok_ ? number : 0;
    }
    ok_ = false;
    return 0;
  }

  std::uint8_t byte() {
    if (rest_.empty()) {
      ok_ = false;
      return 0;
    }
    const auto first = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }

  /// Little-endian, `count` ≤ 8 bytes.
  std::uint64_t fixed(unsigned count) {
    std::uint64_t number = 0;
    for (unsigned i = 0; i < count; ++i) number |= std::uint64_t{byte()} << (8 * i);
    return number;
  }

  /// A length as a varint, then that many bytes; a view into what was given.
  std::string_view text() {
    const auto length = varint();
    if (length > rest_.size()) {
      ok_ = false;
      return {};
    }
    const auto view = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return view;
  }

  /// For a caller that finds nonsense in what it read.
  void fail() { ok_ = false; }

  std::string_view rest() const { return rest_; }
  bool ok() const { return ok_; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

inline void put_fixed(std::string& out, std::uint64_t number, unsigned count) {
  for (unsigned i = 0; i < count; ++i) out.push_back(static_cast<char>(number >> (8 * i)));
}

inline void put_text(std::string& out, std::string_view text) {
  put_varint(out, text.size());
  out.append(text);
}

}  // namespace assay
