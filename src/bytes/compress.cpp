#include "bytes/compress.h"

#include <zstd.h>

#include <memory>

#include "bytes/varint.h"

namespace assay {
namespace {

/// Below this zstd's own header eats what it saves.
constexpr std::size_t kWorthCompressing = 64;
constexpr int kLevel = 1;

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

}  // namespace

std::string_view compress(std::string_view bytes, std::span<char> scratch) {
  if (bytes.size() < kWorthCompressing) return {};
  // Making a context costs more than compressing a chunk with it.
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(ZSTD_createCCtx());
  const std::size_t size =
      ZSTD_compressCCtx(context.get(), scratch.data(), scratch.size(), bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(size) || size >= bytes.size()) return {};
  return {scratch.data(), size};
}

Result<std::string_view> decompress(std::string_view bytes, std::span<char> scratch) {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeDecompressor> context(ZSTD_createDCtx());
  const std::size_t size =
      ZSTD_decompressDCtx(context.get(), scratch.data(), scratch.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size)) return Error{.kind = ErrorKind::bad_file, .message = ZSTD_getErrorName(size)};
  return std::string_view(scratch.data(), size);
}

void put_packed(std::string& out, std::uint8_t flags, std::size_t count, std::string_view body,
                std::span<char> scratch) {
  const auto compressed = compress(body, scratch);
  out.push_back(static_cast<char>(compressed.empty() ? flags : flags | kPackedCompressed));
  put_varint(out, count);
  out.append(compressed.empty() ? body : compressed);
}

Result<std::string_view> packed_body(std::string_view rest, std::uint8_t flags, std::span<char> scratch) {
  if ((flags & kPackedCompressed) == 0) return rest;
  return decompress(rest, scratch);
}

}  // namespace assay
