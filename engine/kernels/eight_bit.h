#pragma once

#include <cmath>
#include <cstdint>

// Adam's moments in 8 bits: blocks of 256 values share one scale, the largest magnitude among them, and each is stored
// as its logarithm relative to that. Neighbouring codes are 9 % apart over the whole range, so the error is 4.5 % at
// most, however unequal the values of a block are; linear codes would turn the small ones into zero. One definition for
// CPU and CUDA.

#ifdef __CUDACC__
#define ASSAY_HOST_DEVICE __host__ __device__
#else
#define ASSAY_HOST_DEVICE
#endif

namespace assay::engine::eight_bit {

constexpr int kBlock = 256;
constexpr float kSignedRange = 16;    // powers of two that the first moment's 127 levels cover
constexpr float kUnsignedRange = 32;  // the second moment is a square: twice the range, twice the levels

/// `relative` = value / scale, in −1 … 1. Bit 7 is the sign, 0 in the others means zero.
ASSAY_HOST_DEVICE inline std::uint8_t encode_signed(float relative) {
  const float magnitude = relative < 0 ? -relative : relative;
  const float level = 127.5F + log2f(magnitude) * (126.0F / kSignedRange);
  if (!(level >= 1.0F)) return 0;
  const auto code = static_cast<std::uint8_t>(level > 127.0F ? 127.0F : level);
  return static_cast<std::uint8_t>(relative < 0 ? code | 0x80U : code);
}
ASSAY_HOST_DEVICE inline float decode_signed(std::uint8_t code) {
  const int level = code & 0x7F;
  if (level == 0) return 0;
  const float magnitude = exp2f((static_cast<float>(level) - 127.0F) * (kSignedRange / 126.0F));
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

/// Never rounds a positive value to zero: Adam divides by its root.
ASSAY_HOST_DEVICE inline std::uint8_t encode_unsigned(float relative) {
  if (!(relative > 0)) return 0;
  const float level = 255.5F + log2f(relative) * (254.0F / kUnsignedRange);
  return static_cast<std::uint8_t>(level < 1.0F ? 1.0F : level > 255.0F ? 255.0F : level);
}
ASSAY_HOST_DEVICE inline float decode_unsigned(std::uint8_t code) {
  return code == 0 ? 0.0F : exp2f((static_cast<float>(code) - 255.0F) * (kUnsignedRange / 254.0F));
}

}  // namespace assay::engine::eight_bit
