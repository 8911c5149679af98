// How many protocol lines a second are parsed and recorded, through a pipe and onto the disk, as in a real run.
// The limit beside it: the same lines through the same pipe into a reader that only counts newlines. Below it, for
// those who print instead: lines of ordinary text, searched for metrics, redacted and kept.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

#include "base/files.h"
#include "runs/recorder.h"
#include "store/local/local_store.h"
#include "store/run_store.h"
#include "store/run_writer.h"

namespace {

using namespace assay;

constexpr int kLines = 1'000'000;
constexpr int kRounds = 5;
constexpr double kGoal = 500'000;

std::string make_lines() {
  std::string lines;
  for (int i = 0; i < kLines; ++i) {
    fmt::format_to(std::back_inserter(lines),
                   R"({{"assay":1,"type":"step","step":{},"loss":{:.6f},"samples_per_second":{:.1f}}})"
                   "\n",
                   i, 1.0 / (i + 1), 1000 + i % 7 * 0.5);
  }
  return lines;
}

std::string make_text() {
  std::string lines;
  for (int i = 0; i < kLines; ++i) {
    fmt::format_to(std::back_inserter(lines), "iter {}: loss {:.4f}, time {:.2f}ms, mfu {:.2f}%\n", i, 1.0 / (i + 1),
                   20 + i % 7 * 0.5, 12 + i % 5 * 0.1);
  }
  return lines;
}

/// Sends the lines through a pipe and hands what comes out to `take`; lines per second.
double through_pipe(const std::string& lines, const std::function<void(std::string_view)>& take) {
  std::array<int, 2> ends{};
  ASSAY_ASSERT(::pipe2(ends.data(), O_CLOEXEC) == 0);
  ::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
  FileDescriptor read_end(ends[0]);
  const SystemClock clock;
  const auto start = clock.now();
  std::jthread sender([&lines, fd = ends[1]] {
    (void)write_all(fd, lines).ok();
    ::close(fd);
  });
  std::vector<char> buffer(std::size_t{256} << 10);
  for (;;) {
    const ssize_t got = ::read(read_end.get(), buffer.data(), buffer.size());
    if (got <= 0) break;
    take({buffer.data(), static_cast<std::size_t>(got)});
  }
  return kLines / seconds_of(clock.now() - start);
}

double record(const std::string& lines, bool text = false) {
  const TemporaryFolder folder;
  auto store = open_local_store(folder.path()).value();
  Run run;
  run.kind = "command";
  auto writer = begin_run(*store, run).value();
  const SystemClock clock;
  RunRecorder recorder(*writer, TextMetrics::make({}).value(), {}, clock);
  const double rate = through_pipe(lines, [&](std::string_view bytes) {
    if (text) {
      recorder.add_output(OutputStream::out, bytes);
    } else {
      recorder.add_events(bytes);
    }
  });
  recorder.close();
  ASSAY_ASSERT(text ? recorder.facts().last_step == kLines - 1 : recorder.facts().events == kLines);
  ASSAY_ASSERT(!recorder.facts().recording_error);
  return rate;
}

}  // namespace

int main() {
  const std::string lines = make_lines();
  const std::string text = make_text();
  std::vector<double> recorded;
  std::vector<double> counted;
  for (int i = 0; i < kRounds; ++i) {
    recorded.push_back(record(lines));
    std::int64_t newlines = 0;
    counted.push_back(
        through_pipe(lines, [&](std::string_view bytes) { newlines += std::count(bytes.begin(), bytes.end(), '\n'); }));
    ASSAY_ASSERT(newlines == kLines);
  }
  std::sort(recorded.begin(), recorded.end());
  std::sort(counted.begin(), counted.end());
  const double median = recorded[kRounds / 2];
  fmt::print("protocol lines, {} bytes each, median of {} rounds of {} lines\n", lines.size() / kLines, kRounds,
             kLines);
  fmt::print("  parsed and recorded   {:>12.0f} lines/s\n", median);
  fmt::print("  counted only (limit)  {:>12.0f} lines/s   ratio {:.2f}\n", counted[kRounds / 2],
             median / counted[kRounds / 2]);
  fmt::print("  goal                  {:>12.0f} lines/s   {:.1f} × the goal\n", kGoal, median / kGoal);
  fmt::print("  ordinary text         {:>12.0f} lines/s   of {} bytes with four figures each, one round\n",
             record(text, true), text.size() / kLines);
  return median >= kGoal ? 0 : 1;
}
