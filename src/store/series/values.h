#pragma once

#include <cstdint>
#include <string>

#include "bytes/varint.h"
#include "store/timed_value.h"

namespace assay {

/// Packs doubles one after another, bit for bit: a short decimal as the difference to the one before at a shared
/// scale (a byte or two for a sensor), anything else as the bytes in which it differs from its predecessor.
/// Writer and reader each hold one and go through the values in the same order.
class ValueCoder {
 public:
  void put(std::string& out, double value);
  /// Bytes that were not written by `put` give any value, or make the reader fail.
  double get(ByteReader& in);

 private:
  std::uint64_t scaled_ = 0;
  std::uint64_t bits_ = 0;
  std::uint8_t scale_ = 0;
};

}  // namespace assay
