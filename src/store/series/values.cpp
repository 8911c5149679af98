#include "store/series/values.h"

#include <bit>
#include <cmath>

#include "bytes/scaled.h"

// A value is one varint: even, the zigzag difference of scaled numbers; 1, the XOR with the value before follows;
// 3 + 2k, the scale becomes 10^k, differences begin at 0 again and a difference follows.

namespace assay {
namespace {

constexpr std::uint64_t kXor = 1;
constexpr std::uint64_t kFirstScale = 3;

/// The scale to use, the current one if it will do; kScales.size() if none does.
std::size_t scale_for(double value, std::size_t current) {
  if (scales_exactly(value, kScales[current])) return current;
  std::size_t scale = 0;
  while (scale < kScales.size() && !scales_exactly(value, kScales[scale])) ++scale;
  return scale;
}

/// One byte (low: how many bytes follow, high: how many zero bytes are below them), then those bytes.
void put_difference(std::string& out, std::uint64_t difference) {
  if (difference == 0) {
    out.push_back(0);
    return;
  }
  const unsigned low = static_cast<unsigned>(std::countr_zero(difference)) / 8;
  const unsigned count = 8 - low - static_cast<unsigned>(std::countl_zero(difference)) / 8;
  out.push_back(static_cast<char>(low << 4 | count));
  put_fixed(out, difference >> (8 * low), count);
}

std::uint64_t get_difference(ByteReader& in) {
  const unsigned head = in.byte();
  const unsigned low = head >> 4;
  const unsigned count = head & 0x0F;
  if (count == 0 || low + count > 8) {
    if (head != 0) in.fail();
    return 0;
  }
  return in.fixed(count) << (8 * low);
}

}  // namespace

void ValueCoder::put(std::string& out, double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto scale = scale_for(value, scale_);
  if (scale == kScales.size()) {
    put_varint(out, kXor);
    put_difference(out, bits ^ bits_);
  } else {
    if (scale != scale_) {
      put_varint(out, kFirstScale + 2 * scale);
      scale_ = static_cast<std::uint8_t>(scale);
      scaled_ = 0;
    }
    const auto scaled = static_cast<std::uint64_t>(std::llrint(value * kScales[scale]));
    put_varint(out, zigzag(scaled - scaled_) << 1);
    scaled_ = scaled;
  }
  bits_ = bits;
}

double ValueCoder::get(ByteReader& in) {
  auto code = in.varint();
  if (code >= kFirstScale && code % 2 == 1) {
    const auto scale = (code - kFirstScale) / 2;
    if (scale >= kScales.size()) {
      in.fail();
      return 0;
    }
    scale_ = static_cast<std::uint8_t>(scale);
    scaled_ = 0;
    code = in.varint();
    if (code % 2 == 1) in.fail();
  }
  if (code == kXor) {
    bits_ ^= get_difference(in);
  } else {
    scaled_ += unzigzag(code >> 1);
    bits_ = std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(scaled_)) / kScales[scale_]);
  }
  return std::bit_cast<double>(bits_);
}

}  // namespace assay
