// libFuzzer entry: whatever the bytes, reading a recording ends with series in good order or with a message, and what
// was read can be played. An odd first byte gives the rest as it is; an even one makes frames of it that have their
// checksums right, which chance would never find.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "bytes/frame.h"
#include "telemetry/reading.h"
#include "telemetry/replay/recording.h"
#include "telemetry/replay/recording_frames.h"
#include "telemetry/replay/replay_source.h"

namespace {

void add_frame(std::string& file, std::uint8_t kind, std::string_view payload) {
  const std::size_t start = file.size();
  assay::begin_frame(file, kind);
  file += payload;
  assay::seal_frame(file, start, start);
}

/// Again and again a kind, a length of two bytes and that much payload.
std::string framed(std::string_view bytes) {
  std::string file;
  add_frame(file, static_cast<std::uint8_t>(assay::RecordingFrame::begin),
            std::string(assay::kRecordingMark) + static_cast<char>(assay::kRecordingVersion));
  while (bytes.size() > 3) {
    const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
    const std::size_t length = std::min<std::size_t>(bytes.size() - 3, at(1) + 256U * at(2));
    add_frame(file, at(0) % 8, bytes.substr(3, length));
    bytes.remove_prefix(3 + length);
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  auto recording = assay::parse_recording(data[0] % 2 == 0 ? framed(rest) : std::string(rest));
  if (!recording) {
    if (recording.error().message.empty()) std::abort();
    return 0;
  }
  for (const auto& series : recording->series) {
    if (series.times_ns.empty() || series.times_ns.size() != series.values.size()) std::abort();
    for (std::size_t i = 1; i < series.times_ns.size(); ++i) {
      if (series.times_ns[i - 1] >= series.times_ns[i]) std::abort();
    }
  }
  assay::ManualClock clock;
  const auto shared = std::make_shared<const assay::Recording>(std::move(*recording));
  const auto source = assay::make_replay_source(shared, {.speed = 3, .seed = 1, .clock = &clock});
  for (int i = 0; i < 4; ++i) {
    if (!source->read(assay::SteadyTime::max())) std::abort();
    clock.advance(std::chrono::seconds(1));
  }
  return 0;
}
