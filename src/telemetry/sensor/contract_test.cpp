// Every source that there is, through the contract of MetricSource.
#include <thread>

#include "support/source_tree.h"
#include "telemetry/metric_source_contract.h"
#include "telemetry/nvml/fake_driver.h"
#include "telemetry/nvml/nvml_source.h"
#include "telemetry/procfs/procfs_source.h"
#include "telemetry/replay/recording_writer.h"
#include "telemetry/replay/replay_source.h"
#include "telemetry/sensor/sensor_source.h"

namespace assay {
namespace {

ManualClock& manual_clock() {
  static ManualClock clock;
  return clock;
}

void pass_a_second() { manual_clock().advance(std::chrono::seconds(1)); }
// Longer than CPU ticks and GPM samples are apart, so that no rate is left out.
void wait_a_moment() { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }

const FakeDriver& driver() {
  static const FakeDriver instance(test::beside_program("libfake-nvml.so"),
                                   test::fixture_folder() / "nvml" / "h200-x2.txt");
  return instance;
}

std::unique_ptr<MetricSource> nvml() {
  driver().use();
  auto api = driver().load();
  return make_nvml_source(std::move(*api), {.clock = &manual_clock()});
}

std::unique_ptr<MetricSource> sensor() {
  SensorOptions options;
  options.command = {test::beside_program("assay_test_sensor"), "nvml", test::beside_program("libfake-nvml.so")};
  options.environment = {{"ASSAY_FAKE_NVML", driver().script().string()}};
  return make_sensor_source(options);
}

std::unique_ptr<MetricSource> replay() {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "recording";
  {
    const auto source = nvml();
    auto writer = RecordingWriter::create(file);
    for (int i = 0; i < 10; ++i) {
      pass_a_second();
      EXPECT_TRUE(writer->append(manual_clock().wall(), *source->read(SteadyTime::max())).ok());
    }
  }
  auto recording = load_recording(file);
  EXPECT_TRUE(recording.ok()) << recording.error().text();
  return make_replay_source(std::make_shared<const Recording>(std::move(*recording)),
                            {.seed = 5, .clock = &manual_clock()});
}

INSTANTIATE_TEST_SUITE_P(
    Sources, MetricSourceContract,
    testing::Values(SourceUnderTest{"procfs", [] { return make_procfs_source({}); }, wait_a_moment},
                    SourceUnderTest{"details", [] { return make_host_details_source({}); }, wait_a_moment},
                    SourceUnderTest{"nvml", nvml, pass_a_second}, SourceUnderTest{"sensor", sensor, wait_a_moment},
                    SourceUnderTest{"replay", replay, pass_a_second}),
    [](const auto& source) { return source.param.name; });

}  // namespace
}  // namespace assay
