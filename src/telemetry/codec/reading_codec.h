#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bytes/varint.h"
#include "model/series.h"

namespace assay {

struct DeviceFacts;
struct GpuProcess;
struct Sample;
struct TelemetryEvent;

// The parts of a reading as bytes, for the sensor's pipe and for recordings. Numbers as in bytes/varint.h.

inline constexpr std::size_t kMaxText = 4096;         ///< longer texts are cut when written
inline constexpr std::size_t kMaxLabels = 16;         ///< of one series, and values of one event
inline constexpr std::size_t kMaxDevices = 1024;      ///< more are left out
inline constexpr std::size_t kMaxFacts = 64;          ///< of one device
inline constexpr std::size_t kMaxGpuProcesses = 512;  ///< more are left out

/// Takes values off bytes that may be damaged; every count and length has a bound. The first failure sticks.
class BoundedReader {
 public:
  explicit BoundedReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t varint() { return bytes_.varint(); }
  std::uint8_t byte() { return bytes_.byte(); }
  std::int64_t integer() { return static_cast<std::int64_t>(unzigzag(bytes_.varint())); }
  double number();
  std::string text();
  std::string_view view() { return bytes_.text(); }  ///< as long as the bytes allow
  /// How many entries follow; 0 after a failure. Each entry has at least one byte, so a count is never beyond those.
  std::size_t count(std::size_t limit);
  void fail() { ok_ = false; }

  bool ok() const { return ok_ && bytes_.ok(); }
  bool at_end() const { return ok() && bytes_.rest().empty(); }

 private:
  ByteReader bytes_;
  bool ok_ = true;
};

void put_number(std::string& out, double number);
void put_integer(std::string& out, std::int64_t number);
void put_short_text(std::string& out, std::string_view text);

void put_series(std::string& out, const SeriesKey& key, std::string_view unit);
/// The value is 0.
Sample take_series(BoundedReader& in);

void put_event(std::string& out, const TelemetryEvent& event);
TelemetryEvent take_event(BoundedReader& in);

void put_devices(std::string& out, const std::vector<DeviceFacts>& devices);
std::vector<DeviceFacts> take_devices(BoundedReader& in);

void put_processes(std::string& out, const std::vector<GpuProcess>& processes);
std::vector<GpuProcess> take_processes(BoundedReader& in);

}  // namespace assay
