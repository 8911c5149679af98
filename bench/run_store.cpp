// What it costs to keep runs, beside goals: frames of a journal taken in, a curve of a million points drawn, a run of a
// long study noted.
//
//   bench_run_store [FOLDER]
//
// In memory (/dev/shm) by default: the disk is not what is measured here.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/files.h"
#include "model/run.h"
#include "model/study.h"
#include "store/journal/journal_encoder.h"
#include "store/lease.h"
#include "store/local/local_store.h"
#include "store/run_curves.h"
#include "store/run_store.h"

namespace {

using namespace assay;

constexpr std::size_t kPoints = 1'000'000;
constexpr std::size_t kWidth = 2000;
constexpr int kRounds = 5;
constexpr std::size_t kPlanned = 10'000;

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool passed = true;
void show(const char* what, double figure, const char* unit, double goal, bool less) {
  const bool good = less ? figure <= goal : figure >= goal;
  passed = passed && good;
  fmt::print("{:<58} {:>12.4g} {:<10} goal {} {:<10.4g} {}\n", what, figure, unit, less ? "≤" : "≥", goal,
             good ? "ok" : "MISSED");
}

/// The journal of a run that reports a loss at each step, as an agent sends it: in pieces of some 100 kB.
std::vector<std::string> pieces_of_a_journal() {
  JournalEncoder encoder;
  const auto loss = encoder.open_series({"loss", {}}, "");
  std::vector<std::string> pieces;
  for (std::size_t i = 0; i < kPoints; ++i) {
    const SeriesPoint point{.time_ns = static_cast<std::int64_t>(1'700'000'000'000'000'000 + i * 20'000'000),
                            .step = static_cast<std::int64_t>(i),
                            .value = 3 + std::exp(-1e-5 * static_cast<double>(i)) * std::sin(static_cast<double>(i))};
    encoder.add_points(loss, {&point, 1});
    if (encoder.frames().size() > 100'000 || i + 1 == kPoints) {
      if (i + 1 == kPoints) encoder.add_end_mark();
      pieces.push_back(encoder.frames());
      encoder.drop_frames();
    }
  }
  return pieces;
}

Result<void> measure(const fs::path& folder) {
  ASSAY_TRY(auto store, open_local_store(folder));
  const auto pieces = pieces_of_a_journal();
  Run run;
  run.kind = "train";
  ASSAY_CHECK(store->add_run(run));
  ASSAY_TRY(const auto lease, store->take_run(run.id, {.owner = "gpu03", .length = std::chrono::hours(1)}));
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t size = 0;
  for (const auto& piece : pieces) {
    ASSAY_TRY(size, store->append_frames(lease, size, piece));
  }
  show("points of a leased run's frames taken in", kPoints / since(begin), "points/s", 1e6, false);
  ASSAY_CHECK(store->change_owned(lease, [](Run& ended) -> Result<void> {
    ended.state = RunState::ended;
    return {};
  }));

  double cold = 1e9;
  double warm = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    ASSAY_TRY(store, open_local_store(folder));
    auto start = std::chrono::steady_clock::now();
    ASSAY_CHECK(store->read_curves(run.id, {.names = {"loss"}, .width = kWidth}));
    cold = std::min(cold, since(start));
    start = std::chrono::steady_clock::now();
    ASSAY_CHECK(store->read_curves(run.id, {.names = {"loss"}, .width = kWidth}));
    warm = std::min(warm, since(start));
  }
  show("a curve of 1 M points in 2,000 buckets", warm * 1e3, "ms", 20, true);
  fmt::print("{:<58} {:>12.4g} ms         its journal is read once\n", "the first curve of a run", cold * 1e3);

  Study study{.name = "long"};
  PlannedRun planned{.variant = "baseline"};
  planned.spec = {{"kind", "null"}, {"steps", 100}};
  study.plan.assign(kPlanned, planned);
  ASSAY_CHECK(store->create_study(study));
  const auto note = [&](std::size_t from, std::size_t to) -> Result<double> {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = from; i < to; ++i) ASSAY_CHECK(store->note_planned_run(study.id, i, "0123456789"));
    return since(start) / static_cast<double>(to - from) * 1e6;
  };
  ASSAY_TRY(const auto first, note(0, 1000));
  ASSAY_CHECK(note(1000, kPlanned - 1000));
  ASSAY_TRY(const auto last, note(kPlanned - 1000, kPlanned));
  show("the last 1,000 runs of a plan of 10,000 noted, each", last, "µs", 100, true);
  show("beside the first 1,000", last / first, "×", 1.5, true);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const fs::path folder = argc > 1 ? fs::path(argv[1]) : fs::path("/dev/shm/assay-bench-run-store");
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  const auto measured = measure(folder);
  fs::remove_all(folder, ignored);
  if (!measured) {
    fmt::print(stderr, "{}\n", measured.error().text());
    return 2;
  }
  return passed ? 0 : 1;
}
