// A sensor for tests: `assay_test_sensor nvml LIBRARY` serves that NVML, `assay_test_sensor HOW` serves two samples and
// then behaves badly: `hang` or `crash` at the third reading, `babble` sends bytes that are no frames, `exit` ends at
// once, `fail` fails every time.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "telemetry/nvml/nvml_source.h"
#include "telemetry/reading.h"
#include "telemetry/sensor/sensor.h"

namespace {

using namespace assay;

class BadSource final : public MetricSource {
 public:
  explicit BadSource(std::string how) : how_(std::move(how)) {}
  std::string_view name() const override { return "bad"; }
  Result<Reading> read(SteadyTime) override {
    if (++readings_ > 2) misbehave();
    if (how_ == "fail") return Error{.kind = ErrorKind::denied, .message = "not today", .hint = "Come back tomorrow."};
    Reading reading;
    reading.samples.push_back({.key = {.name = "bad.readings", .labels = {}}, .unit = "", .value = 1.0 * readings_});
    reading.samples.push_back({.key = {.name = "bad.pid", .labels = {}}, .unit = "", .value = 1.0 * ::getpid()});
    return reading;
  }
  Result<Reading> read_everything(SteadyTime deadline) override {
    auto reading = read(deadline);
    if (reading) reading->samples.push_back({.key = {.name = "bad.everything", .labels = {}}, .unit = "", .value = 1});
    return reading;
  }

 private:
  void misbehave() const {
    if (how_ == "hang") {
      for (;;) ::pause();
    }
    if (how_ == "crash") std::abort();
    if (how_ == "babble") [[maybe_unused]]
      const ssize_t sent = ::write(kSensorChannel, "\xFF\xFF\xFF\xFF\xFF", 5);
  }

  std::string how_;
  int readings_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  if (how == "exit") return 3;
  if (how == "nvml" && argc > 2) {
    const auto source = make_nvml_source(std::string(argv[2]));
    return run_sensor(kSensorChannel, kSensorChannel, *source);
  }
  BadSource source(how);
  return run_sensor(kSensorChannel, kSensorChannel, source);
}
