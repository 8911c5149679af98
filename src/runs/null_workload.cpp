#include "runs/null_workload.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "base/files.h"

namespace assay {
namespace {

struct NullOptions {
  long steps = 100'000;
  double rate = 0;
  int metrics = 4;
};

NullOptions parse_options(int argc, char** argv) {
  NullOptions options;
  for (int i = 2; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::string_view value = argument.substr(argument.find('=') + 1);
    const char* end = value.data() + value.size();
    if (argument.starts_with("steps=")) std::from_chars(value.data(), end, options.steps);
    if (argument.starts_with("rate=")) std::from_chars(value.data(), end, options.rate);
    if (argument.starts_with("metrics_per_step=")) std::from_chars(value.data(), end, options.metrics);
  }
  return options;
}

/// Where the events go, by the rule that every workload follows.
int events_fd() {
  const char* events = std::getenv("ASSAY_EVENTS");
  const std::string_view where = events ? events : "";
  int fd = STDOUT_FILENO;
  if (where.starts_with("fd:")) std::from_chars(where.data() + 3, where.data() + where.size(), fd);
  return fd;
}

void append_step(std::string& buffer, long step, int metrics) {
  fmt::format_to(std::back_inserter(buffer), R"({{"assay":1,"type":"step","step":{})", step);
  // Values that differ from step to step, as real ones do.
  for (int m = 0; m < metrics; ++m) {
    fmt::format_to(std::back_inserter(buffer), R"(,"m{}":{:.6f})", m, 1.0 / static_cast<double>(step + m + 1));
  }
  buffer += "}\n";
}

}  // namespace

int null_workload_main(int argc, char** argv) {
  constexpr std::size_t kWriteSize = std::size_t{64} << 10;
  const NullOptions options = parse_options(argc, argv);
  const int fd = events_fd();
  const auto start = std::chrono::steady_clock::now();
  std::string buffer =
      fmt::format("{{\"assay\":1,\"type\":\"hello\",\"name\":\"null\",\"total_steps\":{}}}\n", options.steps);
  for (long step = 0; step < options.steps; ++step) {
    if (options.rate > 0) {
      std::this_thread::sleep_until(start +
                                    std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::duration<double>(static_cast<double>(step) / options.rate)));
    }
    append_step(buffer, step, options.metrics);
    if (options.rate > 0 || buffer.size() >= kWriteSize) {
      if (!write_all(fd, buffer)) return 1;
      buffer.clear();
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::format_to(std::back_inserter(buffer),
                 "{{\"assay\":1,\"type\":\"result\",\"events_sent\":{},\"events_per_second\":{:.1f}}}\n", options.steps,
                 static_cast<double>(options.steps) / seconds);
  return write_all(fd, buffer) ? 0 : 1;
}

}  // namespace assay
