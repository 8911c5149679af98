#include "telemetry/sensor/sensor_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <optional>
#include <thread>

#include "support/source_tree.h"
#include "telemetry/nvml/fake_driver.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

SensorOptions sensor(const std::vector<std::string>& arguments) {
  SensorOptions options;
  options.command = {test::beside_program("assay_test_sensor")};
  options.command.insert(options.command.end(), arguments.begin(), arguments.end());
  options.first_pause = Nanos(0);
  options.longest_pause = Nanos(0);
  return options;
}

double value(const Reading& reading, std::string_view name) {
  for (const auto& sample : reading.samples) {
    if (sample.key.name == name) return sample.value;
  }
  ADD_FAILURE() << name << " is not there";
  return -1;
}

Reading read(MetricSource& source) {
  auto reading = source.read(SteadyTime::max());
  EXPECT_TRUE(reading.ok()) << reading.error().text();
  return reading ? std::move(*reading) : Reading();
}

Error failure(MetricSource& source) {
  auto reading = source.read(SteadyTime::max());
  EXPECT_FALSE(reading.ok());
  return reading ? Error{} : std::move(reading).error();
}

bool is_running(pid_t pid) { return ::kill(pid, 0) == 0; }

TEST(SensorSource, ReadsThroughAnotherProcess) {
  const auto source = make_sensor_source(sensor({"good"}));
  const Reading first = read(*source);
  EXPECT_EQ(value(first, "bad.readings"), 1);
  EXPECT_NE(static_cast<pid_t>(value(first, "bad.pid")), ::getpid());
  EXPECT_EQ(value(read(*source), "bad.readings"), 2);
  const auto everything = source->read_everything(SteadyTime::max());
  ASSERT_TRUE(everything.ok());
  EXPECT_EQ(value(*everything, "bad.everything"), 1);
}

TEST(SensorSource, EndsTheSensorWithItself) {
  auto source = make_sensor_source(sensor({"good"}));
  const auto pid = static_cast<pid_t>(value(read(*source), "bad.pid"));
  EXPECT_TRUE(is_running(pid));
  source.reset();
  EXPECT_FALSE(is_running(pid));
}

TEST(SensorSource, PassesOnWhatTheSourceSays) {
  const auto source = make_sensor_source(sensor({"fail"}));
  const Error error = failure(*source);
  EXPECT_EQ(error.kind, ErrorKind::denied);
  EXPECT_EQ(error.message, "not today");
  EXPECT_EQ(error.hint, "Come back tomorrow.");
}

TEST(SensorSource, StartsACrashedSensorAgain) {
  const auto source = make_sensor_source(sensor({"crash"}));
  const double pid = value(read(*source), "bad.pid");
  read(*source);
  const Error error = failure(*source);
  EXPECT_EQ(error.kind, ErrorKind::crash);
  EXPECT_THAT(error.message, HasSubstr("SIGABRT"));
  EXPECT_NE(value(read(*source), "bad.pid"), pid);
}

TEST(SensorSource, WaitsBeforeItStartsASensorAgain) {
  auto options = sensor({"crash"});
  options.first_pause = std::chrono::hours(1);
  options.longest_pause = std::chrono::hours(1);
  const auto source = make_sensor_source(options);
  read(*source);
  read(*source);
  EXPECT_EQ(failure(*source).kind, ErrorKind::crash);
  const Error waiting = failure(*source);
  EXPECT_EQ(waiting.kind, ErrorKind::unreachable);
  EXPECT_THAT(waiting.message, HasSubstr("SIGABRT"));
  EXPECT_THAT(waiting.message, HasSubstr("starting it again in 3600 s"));
}

TEST(SensorSource, KillsAndReplacesASensorThatHangs) {
  auto options = sensor({"hang"});
  options.answer_limit = milliseconds(100);
  const auto source = make_sensor_source(options);
  pid_t pid = -1;
  // On a loaded machine even the first answer may take longer than the limit, which then is not held against it.
  while (pid < 0) {
    const auto first = source->read(SteadyTime::max());
    if (first) pid = static_cast<pid_t>(value(*first, "bad.pid"));
  }
  std::optional<Error> problem;
  while (!problem) {
    auto reading = source->read(SteadyTime::max());
    if (!reading) problem = std::move(reading).error();
  }
  EXPECT_EQ(problem->kind, ErrorKind::timeout);
  EXPECT_THAT(problem->message, HasSubstr("has not answered for"));
  // On a loaded machine what was killed may take a while to be gone; a later start looks again.
  pid_t successor = pid;
  while (successor == pid || is_running(pid)) {
    const auto reading = source->read(SteadyTime::max());
    if (reading) successor = static_cast<pid_t>(value(*reading, "bad.pid"));
  }
}

TEST(SensorSource, ASlowStartIsReportedButNotPunished) {
  FakeDriver driver(test::beside_program("libfake-nvml.so"), test::fixture_folder() / "nvml" / "h200-x2.txt");
  driver.set("hang.nvmlInit_v2", "0.3");
  auto options = sensor({"nvml", test::beside_program("libfake-nvml.so")});
  options.answer_limit = milliseconds(20);
  const auto source = make_sensor_source(options);
  EXPECT_EQ(failure(*source).kind, ErrorKind::timeout);
  std::optional<Reading> reading;
  while (!reading) {
    auto result = source->read(SteadyTime::max());
    if (result) reading = std::move(*result);
  }
  EXPECT_EQ(reading->devices.value_or(std::vector<DeviceFacts>()).size(), 2U)
      << "the first reading's, not a later one's";
}

TEST(SensorSource, ADeadlineIsKept) {
  const auto source = make_sensor_source(sensor({"hang"}));
  read(*source);
  read(*source);
  const auto reading = source->read(SystemClock().now() + milliseconds(10));
  ASSERT_FALSE(reading.ok());
  EXPECT_EQ(reading.error().kind, ErrorKind::timeout);
}

TEST(SensorSource, DoesNotTrustWhatASensorSends) {
  const auto source = make_sensor_source(sensor({"babble"}));
  const double pid = value(read(*source), "bad.pid");
  read(*source);
  EXPECT_EQ(failure(*source).kind, ErrorKind::bad_file);
  EXPECT_NE(value(read(*source), "bad.pid"), pid);
}

TEST(SensorSource, SaysThatItDoesNotStart) {
  auto options = sensor({});
  options.command = {"/no/such/sensor"};
  EXPECT_EQ(failure(*make_sensor_source(options)).kind, ErrorKind::missing_file);
  const Error ended = failure(*make_sensor_source(sensor({"exit"})));
  EXPECT_EQ(ended.kind, ErrorKind::crash);
  EXPECT_THAT(ended.message, HasSubstr("exit code 3"));
}

TEST(SensorSource, ServesNvmlAndSurvivesAHungDriver) {
  FakeDriver driver(test::beside_program("libfake-nvml.so"), test::fixture_folder() / "nvml" / "h200-x8.txt");
  auto options = sensor({"nvml", test::beside_program("libfake-nvml.so")});
  options.answer_limit = seconds(10);  // a busy machine takes seconds to start a process
  const auto source = make_sensor_source(options);
  const Reading first = read(*source);
  ASSERT_TRUE(first.devices.has_value());
  EXPECT_EQ(first.devices->size(), 8U);
  EXPECT_EQ(value(first, "gpu.temperature_c"), 45);
  driver.set("hang.nvmlDeviceGetTemperature", "3600");
  EXPECT_EQ(failure(*source).kind, ErrorKind::timeout);
  driver.set("hang.nvmlDeviceGetTemperature", "0");
  auto again = source->read(SteadyTime::max());
  for (int i = 0; i < 5 && !again; ++i) again = source->read(SteadyTime::max());  // a very busy machine
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(value(*again, "gpu.temperature_c"), 45);
}

}  // namespace
}  // namespace assay
