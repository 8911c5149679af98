#include "loadgen/client_watch.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace assay {
namespace {

constexpr Nanos kLeastWindow = std::chrono::seconds(1);

Nanos thread_cpu() {
  timespec spec{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spec);
  return Nanos(spec.tv_sec * 1'000'000'000 + spec.tv_nsec);
}

std::uint64_t involuntary_switches() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nivcsw);
}

}  // namespace

ClientWatch::ThreadTime ClientWatch::thread_time(int thread, bool& known) const {
  // Time on the CPU, time waiting for it, number of turns.
  std::ifstream file(proc_ / "self/task" / std::to_string(thread) / "schedstat");
  std::int64_t on_cpu = 0;
  std::int64_t waiting = 0;
  if (file >> on_cpu >> waiting) return {Nanos(on_cpu), Nanos(waiting)};
  known = false;
  return {};
}

ClientWatch::MachineTime ClientWatch::machine_time() const {
  // cpu  user nice system idle iowait irq softirq steal …
  std::ifstream file(proc_ / "stat");
  std::string name;
  file >> name;
  MachineTime time;
  std::uint64_t ticks = 0;
  for (int field = 0; field < 8 && file >> ticks; ++field) {
    time.total += ticks;
    if (field == 7) time.stolen = ticks;
  }
  return time;
}

void ClientWatch::begin(const std::vector<int>& threads, SteadyTime now) {
  known_ = true;
  threads_.clear();
  self_ = static_cast<int>(::syscall(SYS_gettid));
  threads_[self_] = thread_time(self_, known_);
  for (const int thread : threads) threads_[thread] = thread_time(thread, known_);
  machine_ = machine_time();
  switches_ = involuntary_switches();
  cpu_ = thread_cpu();
  began_ = now;
}

ClientUsage ClientWatch::end(SteadyTime now) const {
  ClientUsage usage{.wall = now - began_, .known = known_};
  usage.cpu = thread_cpu() - cpu_;
  usage.involuntary_switches = involuntary_switches() - switches_;
  if (usage.wall <= Nanos(0)) return usage;
  const auto share = [&](Nanos part) { return seconds_of(part) / seconds_of(usage.wall); };
  for (const auto& [thread, before] : threads_) {
    bool known = true;
    const ThreadTime after = thread_time(thread, known);
    if (!known) continue;  // a thread that is gone took its figures with it
    usage.waited_share = std::max(usage.waited_share, share(after.waited - before.waited));
    // The dispatching thread spins, and is behind its schedule when it cannot keep up.
    if (thread != self_) usage.busy_share = std::max(usage.busy_share, share(after.on_cpu - before.on_cpu));
  }
  if (usage.wall < kLeastWindow) {
    usage.busy_share = 0;
    return usage;
  }
  const MachineTime machine = machine_time();
  if (machine.total > machine_.total) {
    usage.stolen_share =
        static_cast<double>(machine.stolen - machine_.stolen) / static_cast<double>(machine.total - machine_.total);
  }
  return usage;
}

}  // namespace assay
