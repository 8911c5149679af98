// libFuzzer entry: whatever a sensor sends, decoding ends, and what was understood survives a round trip.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "telemetry/sensor/sensor_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  assay::SensorDecoder decoder;
  decoder.append({reinterpret_cast<const char*>(data), size});
  for (;;) {
    const auto answer = decoder.next();
    if (!answer) {
      if (answer.error().message.empty()) std::abort();
      return 0;
    }
    if (!*answer) return 0;
    assay::SensorEncoder encoder;
    std::string bytes;
    if (!encoder.encode((*answer)->number, (*answer)->result, bytes)) return 0;
    assay::SensorDecoder again;
    again.append(bytes);
    const auto copy = again.next();
    if (!copy || !*copy || (*copy)->number != (*answer)->number) std::abort();
    if ((*copy)->result.ok() != (*answer)->result.ok()) std::abort();
    if ((*copy)->result && (*copy)->result->samples.size() != (*answer)->result->samples.size()) std::abort();
  }
}
