#include "bytes/crc32c.h"

#include <array>
#include <cstring>

namespace assay {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // reflected

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

/// tables[n][b]: what byte b does to the checksum when n more bytes follow it, so that eight bytes go in one step.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t state = byte;
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) ? kPolynomial : 0);
    tables[0][byte] = state;
  }
  for (std::size_t n = 1; n < tables.size(); ++n) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[n - 1][byte];
      tables[n][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_instruction(std::string_view bytes, std::uint32_t previous) {
  std::uint64_t state = ~previous;
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    state = __builtin_ia32_crc32di(state, word);
    bytes.remove_prefix(8);
  }
  auto narrow = static_cast<std::uint32_t>(state);
  for (const char byte : bytes) narrow = __builtin_ia32_crc32qi(narrow, static_cast<unsigned char>(byte));
  return ~narrow;
}
#endif

}  // namespace

std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t previous) {
  std::uint32_t state = ~previous;
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  while (bytes.size() >= 8) {
    state ^= std::uint32_t{at(0)} | std::uint32_t{at(1)} << 8 | std::uint32_t{at(2)} << 16 | std::uint32_t{at(3)} << 24;
    state = kTables[7][state & 0xFF] ^ kTables[6][(state >> 8) & 0xFF] ^ kTables[5][(state >> 16) & 0xFF] ^
            kTables[4][state >> 24] ^ kTables[3][at(4)] ^ kTables[2][at(5)] ^ kTables[1][at(6)] ^ kTables[0][at(7)];
    bytes.remove_prefix(8);
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) state = (state >> 8) ^ kTables[0][(state ^ at(i)) & 0xFF];
  return ~state;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t previous) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return crc32c_instruction(bytes, previous);
#endif
  return crc32c_portable(bytes, previous);
}

}  // namespace assay
