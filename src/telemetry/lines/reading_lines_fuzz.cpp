// libFuzzer entry: whatever lines come, reading ends, and what was understood is written so that it reads the same.
#include <cstdint>
#include <cstdlib>

#include "base/text.h"
#include "telemetry/lines/reading_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  ReadingLineReader reader;
  for (const auto line : split(std::string_view(reinterpret_cast<const char*>(data), size), '\n')) {
    const auto news = reader.take(line);
    if (!news) continue;
    if (news->node == nullptr) std::abort();
    // Its label is given to it again where there are several nodes.
    ReadingLineWriter writer(*news->node);
    std::string lines;
    writer.introduce(lines);
    writer.add(lines, news->time, news->samples);
    ReadingLineReader again;
    std::size_t samples = 0;
    for (const auto written : split(lines, '\n')) {
      const auto same = written.empty() ? std::nullopt : again.take(written);
      if (!written.empty() && !same) std::abort();
      if (same) samples += same->samples.size();
    }
    if (samples > news->samples.size()) std::abort();
  }
  return 0;
}
