// What starting assay costs: `assay version` beside `true`, the least that starting any process costs here.

#include <fmt/format.h>

#include <algorithm>

#include "base/subprocess.h"
#include "support/source_tree.h"

namespace {

using namespace assay;

constexpr int kRounds = 101;
constexpr double kGoalMs = 10;

double median_ms(const std::vector<std::string>& command) {
  const SystemClock clock;
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    const auto start = clock.now();
    ASSAY_ASSERT(run_command(command).ok());
    times.push_back(seconds_of(clock.now() - start) * 1e3);
  }
  std::sort(times.begin(), times.end());
  return times[kRounds / 2];
}

}  // namespace

int main() {
  const double program = median_ms({(test::build_folder() / "bin/assay").string(), "version"});
  const double nothing = median_ms({"/bin/true"});
  fmt::print("start-up, median of {} starts\n", kRounds);
  fmt::print("  assay version      {:>6.2f} ms\n", program);
  fmt::print("  /bin/true (limit)  {:>6.2f} ms   ratio {:.2f}\n", nothing, program / nothing);
  fmt::print("  goal               {:>6.2f} ms   {:.1f} × better\n", kGoalMs, kGoalMs / program);
  return program <= kGoalMs ? 0 : 1;
}
