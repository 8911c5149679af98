// libFuzzer entry: whatever is in a segment file, reading it ends, and what is found in it can be sent.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agent/spool_segment.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  static const TemporaryFolder folder;
  const fs::path path = folder.path() / "segment";
  // A good beginning, so that the rest is looked at; and a good frame behind it, which has to be found.
  std::string bytes;
  put_begin_frame(bytes, 1, {.id = "s1", .simulated = false, .names = {}, .devices = {}});
  const bool begins_well = size > 0 && (data[0] & 1) != 0;
  if (!begins_well) bytes.clear();
  bytes.append(reinterpret_cast<const char*>(data), size);
  put_batch_frame(bytes, 1, 0, {.sequence = 7, .bytes = encode_batch({.stream = "s1", .sequence = 7})});
  if (!write_file_atomically(path, bytes)) return 0;
  auto reader = SegmentReader::open(path, 1);
  if (!reader) std::abort();
  std::uint64_t last = 0;
  while (const auto batch = reader->next()) {
    last = batch->sequence;
    static_cast<void>(with_all_names(batch->bytes, stream_before(*reader, reader->position())));
  }
  if (begins_well && last != 7) std::abort();
  return 0;
}
