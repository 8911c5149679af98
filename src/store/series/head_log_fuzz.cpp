#include <cstdint>
#include <cstdlib>
#include <string>

#include "bytes/frame.h"
#include "store/series/head_log.h"

namespace {

struct Ignored final : assay::LogVisitor {
  assay::Result<void> on_series(assay::SeriesId, const assay::SeriesKey&, std::string_view) override { return {}; }
  assay::Result<void> on_samples(std::span<const assay::SeriesSample> samples) override {
    for (const auto& sample : samples) {
      if (sample.time_ns < 0 || sample.time_ns >= assay::kEndOfTime) std::abort();
    }
    return {};
  }
  assay::Result<void> on_late(std::uint64_t, std::span<const assay::SeriesSample> samples) override {
    return on_samples(samples);
  }
  assay::Result<void> on_erase(std::uint64_t, assay::TimeRange, std::span<const assay::SeriesId>) override {
    return {};
  }
  assay::Result<void> on_forget(std::uint64_t, std::span<const assay::SeriesId>) override { return {}; }
  void on_damage(std::string) override {}
};

}  // namespace

// The bytes as a log file, and, since no fuzzer guesses a checksum, as the payload of a frame that has the right one.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  Ignored visitor;
  if (!assay::read_log(bytes, {1, "head-00000001.log"}, true, visitor).ok()) std::abort();
  if (size == 0) return 0;
  std::string framed;
  assay::begin_frame(framed, data[0]);
  framed.append(bytes, 1);
  assay::seal_frame(framed, 0, std::uint64_t{1} << 40);
  if (!assay::read_log(framed, {1, "head-00000001.log"}, true, visitor).ok()) std::abort();
  return 0;
}
