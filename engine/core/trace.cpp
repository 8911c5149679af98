#include "core/trace.h"

#include <torch/csrc/autograd/profiler_kineto.h>
#include <torch/version.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include "formats/failure.h"

namespace assay::engine {
namespace {

namespace profiler = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

#if TORCH_VERSION_MAJOR >= 2
double start_microseconds(const profiler::KinetoEvent& event) { return static_cast<double>(event.startNs()) * 1e-3; }
double microseconds(const profiler::KinetoEvent& event) { return static_cast<double>(event.durationNs()) * 1e-3; }
#else
double start_microseconds(const profiler::KinetoEvent& event) { return static_cast<double>(event.startUs()); }
double microseconds(const profiler::KinetoEvent& event) { return static_cast<double>(event.durationUs()); }
#endif

}  // namespace

Trace::Trace(bool with_gpu) {
  std::set<ActivityType> activities = {ActivityType::CPU};
  if (with_gpu) activities.insert(ActivityType::CUDA);
  const ProfilerConfig config(ProfilerState::KINETO);
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities);
}

Trace::~Trace() {
  if (recording_) profiler::disableProfiler();
}

void Trace::write(const std::string& path) {
  const auto result = profiler::disableProfiler();
  recording_ = false;
  std::ofstream file(path);
  file << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  double origin = 0;
  bool first = true;
  for (const auto& event : result->events()) {
    if (first) origin = start_microseconds(event);
    const bool on_gpu = event.deviceType() != c10::DeviceType::CPU;
    file << (first ? "" : ",\n")
         << boost::json::serialize(boost::json::object{
                {"name", event.name()},
                {"cat", on_gpu ? "gpu" : "cpu"},
                {"ph", "X"},
                {"ts", start_microseconds(event) - origin},
                {"dur", microseconds(event)},
                {"pid", on_gpu ? "GPU " + std::to_string(static_cast<int>(event.deviceIndex())) : "CPU"},
                {"tid", on_gpu ? static_cast<std::int64_t>(event.deviceResourceId())
                               : static_cast<std::int64_t>(event.startThreadId())}});
    first = false;
  }
  file << "\n]}\n" << std::flush;
  if (!file) throw Failure("io", "the trace '" + path + "' cannot be written: " + std::strerror(errno));
}

}  // namespace assay::engine
