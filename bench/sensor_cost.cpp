// What watching GPUs costs: CPU time and memory of the sensor process and of whoever reads from it, at 1 Hz and 10 Hz,
// beside a program that does nothing but nvmlInit. Against the driver of this machine, a library that stands in for it
// (--library), or a recording (--recording). --record FILE keeps what was read; --calls times each call alone.

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/process_tree.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "telemetry/nvml/gpm_sampler.h"
#include "telemetry/nvml/gpu_reader.h"
#include "telemetry/nvml/gpu_scan.h"
#include "telemetry/nvml/nvml_source.h"
#include "telemetry/replay/recording_writer.h"
#include "telemetry/replay/replay_source.h"
#include "telemetry/sampler.h"
#include "telemetry/sensor/sensor.h"
#include "telemetry/sensor/sensor_source.h"

namespace {

using namespace assay;

constexpr double kCpuGoal = 0.5;    // percent of a core at 1 Hz with 8 GPUs
constexpr double kMemoryGoal = 15;  // MB above bare nvmlInit, both processes together
constexpr double kMegabyte = 1e6;

struct Options {
  std::string library = "libnvidia-ml.so.1";
  std::string recording;  ///< serve this instead of a library
  std::string record;     ///< write what was read there
  double seconds = 30;
  bool calls = false;
};

double resident_mb(pid_t pid) {
  const auto status = read_file(fmt::format("/proc/{}/status", pid));
  if (!status) return 0;
  for (const auto line : split(*status, '\n')) {
    if (!line.starts_with("VmRSS:")) continue;
    const auto digits = trim(line.substr(6));
    double kibibytes = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), kibibytes);
    return kibibytes * 1024 / kMegabyte;
  }
  return 0;
}

/// Of all threads; in nanoseconds, where /proc/PID/stat has hundredths of a second.
double cpu_seconds(pid_t pid) {
  double total = 0;
  std::error_code ignored;
  for (const auto& thread : fs::directory_iterator(fmt::format("/proc/{}/task", pid), ignored)) {
    const auto text = read_file(thread.path() / "schedstat");
    double nanoseconds = 0;
    if (text) std::from_chars(text->data(), text->data() + text->size(), nanoseconds);
    total += nanoseconds * 1e-9;
  }
  return total;
}

double own_cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

[[noreturn]] void fail(std::string_view message) {
  fmt::print(stderr, "{}\n", message);
  std::exit(2);
}

/// The sensor's side: this same program, started again.
int serve(const Options& options) {
  if (!options.recording.empty()) {
    auto recording = load_recording(options.recording);
    if (!recording) fail(recording.error().text());
    const auto source = make_replay_source(std::make_shared<const Recording>(std::move(*recording)));
    return run_sensor(kSensorChannel, kSensorChannel, *source);
  }
  const auto source = make_nvml_source(options.library);
  return run_sensor(kSensorChannel, kSensorChannel, *source);
}

int only_initialise(const Options& options) {
  auto api = nvml::load(options.library);
  if (!api) fail(api.error().text());
  if (const auto code = api->init(); code != nvml::kSuccess) fail(api->describe(code));
  fmt::print("{}\n", resident_mb(::getpid()));
  return 0;
}

double bare_resident_mb(const std::vector<std::string>& command) {
  const auto output = run_command(command, {.deadline = std::chrono::seconds(60)});
  if (!output || output->exit_code != 0) fail("cannot start NVML: " + (output ? output->error : output.error().text()));
  double megabytes = 0;
  std::from_chars(output->out.data(), output->out.data() + output->out.size(), megabytes);
  return megabytes;
}

struct Cost {
  double agent_cpu = 0;  ///< percent of a core
  double sensor_cpu = 0;
  std::size_t readings = 0;
  std::size_t samples = 0;
};

Cost measure(Sampler& sampler, double hertz, double seconds, RecordingWriter* writer) {
  const SystemClock clock;
  sampler.set_period(Nanos(static_cast<std::int64_t>(1e9 / hertz)));
  const auto take = [&](SteadyTime until) {
    auto sampled = sampler.next(until);
    if (sampled && writer != nullptr) {
      if (const auto written = writer->append(sampled->time, sampled->reading); !written) fail(written.error().text());
    }
    for (const auto& event : sampled ? sampled->reading.events : std::vector<TelemetryEvent>()) {
      fmt::print("  event: {} {}: {}\n", event.kind, event.about, event.message);
    }
    return sampled;
  };
  // The first readings start NVML and name the series.
  for (int i = 0; i < 3; ++i) take(clock.now() + std::chrono::seconds(60));
  const auto children = descendants_of(::getpid());
  if (children.empty()) fail("the sensor is not running");
  const pid_t sensor = children.front().pid;

  const SteadyTime start = clock.now();
  const double own = own_cpu_seconds();
  const double theirs = cpu_seconds(sensor);
  const SteadyTime end = start + Nanos(static_cast<std::int64_t>(seconds * 1e9));
  Cost cost;
  while (clock.now() < end) {
    const auto sampled = take(end);
    if (!sampled) continue;
    ++cost.readings;
    cost.samples += sampled->reading.samples.size();
  }
  const double passed = seconds_of(clock.now() - start);
  cost.agent_cpu = 100 * (own_cpu_seconds() - own) / passed;
  cost.sensor_cpu = 100 * (cpu_seconds(sensor) - theirs) / passed;
  return cost;
}

int run(const Options& options, const std::string& self) {
  std::vector<std::string> arguments = {self, "sensor", "--library", options.library};
  if (!options.recording.empty()) arguments = {self, "sensor", "--recording", options.recording};
  std::vector<std::unique_ptr<MetricSource>> sources;
  SensorOptions sensor;
  sensor.command = arguments;
  sources.push_back(make_sensor_source(sensor));
  std::optional<RecordingWriter> writer;
  if (!options.record.empty()) {
    auto created = RecordingWriter::create(options.record);
    if (!created) fail(created.error().text());
    writer.emplace(std::move(*created));
  }
  Sampler sampler(std::move(sources));
  fmt::print("{:>6} {:>14} {:>14} {:>10} {:>16}\n", "rate", "sensor CPU", "agent CPU", "readings", "samples/reading");
  double at_one_hertz = 0;
  for (const double hertz : {1.0, 10.0}) {
    const Cost cost = measure(sampler, hertz, options.seconds, writer ? &*writer : nullptr);
    if (hertz == 1) at_one_hertz = cost.sensor_cpu + cost.agent_cpu;
    fmt::print("{:>3} Hz {:>12.3f} % {:>12.3f} % {:>10} {:>16.1f}\n", hertz, cost.sensor_cpu, cost.agent_cpu,
               cost.readings,
               cost.readings > 0 ? 1.0 * static_cast<double>(cost.samples) / static_cast<double>(cost.readings) : 0.0);
  }
  const pid_t child = descendants_of(::getpid()).front().pid;
  const double bare = options.recording.empty() ? bare_resident_mb({self, "bare", "--library", options.library}) : 0;
  const double theirs = resident_mb(child);
  const double ours = resident_mb(::getpid());
  const double above = theirs + ours - bare;
  fmt::print("resident: sensor {:.1f} MB, agent {:.1f} MB, a program that only starts NVML {:.1f} MB\n", theirs, ours,
             bare);
  fmt::print("above bare NVML   {:>6.1f} MB   goal {:.0f} MB\n", above, kMemoryGoal);
  fmt::print("CPU at 1 Hz       {:>6.3f} %    goal {:.1f} % of a core with 8 GPUs\n", at_one_hertz, kCpuGoal);
  return above <= kMemoryGoal && at_one_hertz <= kCpuGoal ? 0 : 1;
}

double thread_cpu_us() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

void time_call(const std::string& name, const std::function<void()>& call) {
  constexpr int kRounds = 15;
  const SystemClock clock;
  std::vector<double> wall, cpu;
  for (int i = 0; i < kRounds; ++i) {
    const SteadyTime start = clock.now();
    const double used = thread_cpu_us();
    call();
    cpu.push_back(thread_cpu_us() - used);
    wall.push_back(seconds_of(clock.now() - start) * 1e6);
    ::usleep(150'000);  // the driver keeps some answers for a while
  }
  std::sort(wall.begin(), wall.end());
  std::sort(cpu.begin(), cpu.end());
  fmt::print("{:<28} {:>10.1f} µs CPU {:>10.1f} µs\n", name, cpu[kRounds / 2], wall[kRounds / 2]);
}

/// What each call costs on the first GPU: the reason for what is read how often.
int time_calls(const Options& options) {
  using namespace nvml;
  auto loaded = load(options.library);
  if (!loaded) fail(loaded.error().text());
  const Api& api = *loaded;
  if (const auto code = api.init(); code != kSuccess) fail(api.describe(code));
  const auto scan = scan_gpus(api);
  if (!scan || scan->gpus.empty()) fail("there is no GPU");
  const GpuHandle gpu = scan->gpus.front().handle;
  GpuReader reader(api, gpu);
  Reading reading;
  const SystemClock clock;
  reader.read(Depth::costly, clock.now(), reading);
  const auto ask = [&](const char* name, Depth depth) {
    time_call(name, [&] {
      reading.samples.clear();
      reader.read(depth, clock.now(), reading);
    });
  };
  fmt::print("one GPU, median\n");
  ask("usual reading", Depth::usual);
  ask("calm reading", Depth::calm);
  ask("costly reading", Depth::costly);
  std::vector<GpuProcess> processes;
  time_call("processes", [&] { reader.read_processes(processes); });
  unsigned number = 0;
  unsigned long long large = 0;
  Utilization utilization{};
  MemoryV2 memory{};
  memory.version = kMemoryV2Version;
  FieldValue field{};
  field.field = kFieldMemoryTemperature;
  const Device device = gpu.device;
  const auto timed = [&](const char* name, auto* function, auto... asked) {
    if (function != nullptr) time_call(name, [&] { function(device, asked...); });
  };
  timed("utilization", api.utilization, &utilization);
  timed("memory", api.memory_v2, &memory);
  timed("temperature", api.temperature, kTemperatureGpu, &number);
  timed("memory temperature", api.field_values, 1, &field);
  timed("power", api.power, &number);
  timed("power limit", api.power_limit, &number);
  timed("SM clock", api.clock, kClockSm, &number);
  timed("throttle reasons", api.clock_reasons, &large);
  timed("ECC errors", api.ecc_errors, kCorrected, kVolatileEcc, &large);
  timed("PCIe width", api.pcie_width, &number);
  timed("PCIe replays", api.pcie_replays, &number);
  if (const auto gpm = GpmSampler::make(api, device, nullptr, kNoInstance)) {
    Code code = kSuccess;
    time_call("GPM sample and ratios", [&] { static_cast<void>(gpm->read(clock.now(), code)); });
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string mode = !arguments.empty() && !arguments[0].starts_with("--") ? arguments[0] : "";
  for (std::size_t i = mode.empty() ? 0 : 1; i < arguments.size(); ++i) {
    const auto value = [&]() -> std::string {
      if (++i >= arguments.size()) fail("a value is missing");
      return arguments[i];
    };
    if (arguments[i] == "--library")
      options.library = value();
    else if (arguments[i] == "--recording")
      options.recording = value();
    else if (arguments[i] == "--record")
      options.record = value();
    else if (arguments[i] == "--seconds")
      options.seconds = std::stod(value());
    else if (arguments[i] == "--calls")
      options.calls = true;
    else
      fail("options: --library FILE, --recording FILE, --record FILE, --seconds N, --calls");
  }
  if (mode == "sensor") return serve(options);
  if (mode == "bare") return only_initialise(options);
  if (options.calls) return time_calls(options);
  std::error_code ignored;
  return run(options, fs::read_symlink("/proc/self/exe", ignored).string());
}
