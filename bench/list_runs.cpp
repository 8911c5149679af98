// How long it takes to open a store of 10,000 recorded runs and to list them: the promise is at most 100 ms.
//
//   bench_list_runs [RUNS] [FOLDER]
//
// The runs are recorded through the Store interface, journal and all. In memory (/dev/shm) by default: recording syncs
// every run to the disk, which takes minutes on a slow one and is not what is measured here.

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <optional>

#include "base/files.h"
#include "base/random.h"
#include "base/units.h"
#include "model/run.h"
#include "store/local/local_store.h"
#include "store/run_query.h"
#include "store/run_store.h"
#include "store/run_writer.h"

namespace {

using namespace assay;

constexpr double kGoalSeconds = 0.1;
constexpr int kRounds = 7;

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Result<void> record_runs(const fs::path& folder, int count) {
  ASSAY_TRY(const auto store, open_local_store(folder));
  Random random(1, "bench");
  const WallTime start = WallTime(std::chrono::seconds(1'700'000'000));
  for (int i = 0; i < count; ++i) {
    Run run;
    run.name = fmt::format("llama-lora-{}", i % 200);
    run.kind = "train";
    run.tags = {fmt::format("{}gpu", 1 << (i % 4)), "owner=ada"};
    run.created = start + std::chrono::minutes(i);
    run.started = run.created;
    run.ranks = 1 << (i % 4);
    run.provenance.hostname = fmt::format("gpu{:02}", i % 32);
    ASSAY_TRY(const auto writer, begin_run(*store, run));
    ASSAY_CHECK(writer->append_event(run.created, R"({"assay":1,"type":"hello"})"));
    run.verdict = i % 10 == 0 ? Verdict::failed : Verdict::valid;
    run.duration = std::chrono::milliseconds(1000 + random.below(100'000));
    run.metrics = {{"loss", random.uniform()},
                   {"samples_per_second", 1000 * random.uniform()},
                   {"tokens_per_second", 1e6 * random.uniform()},
                   {"step_seconds", random.uniform()},
                   {"gpu_memory_peak_bytes", 8e10 * random.uniform()}};
    ASSAY_CHECK(writer->finish(run));
  }
  return {};
}

struct Case {
  const char* name;
  const char* filter;
  const char* sort;
  std::int64_t limit = -1;
};

/// Opens the store anew and lists: what one `assay runs` does. The median of several.
Result<void> measure(const fs::path& folder, const Case& one, bool& met) {
  std::vector<double> seconds;
  std::size_t rows = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    ASSAY_TRY(const auto store, open_local_store(folder));
    RunQuery query;
    ASSAY_TRY(query.conditions, parse_conditions(one.filter, SystemClock().wall()));
    ASSAY_CHECK(set_sort(query, one.sort));
    query.limit = one.limit;
    ASSAY_TRY(const auto page, store->list_runs(query));
    seconds.push_back(since(start));
    rows = page.rows.size();
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRounds / 2, seconds.end());
  const double median = seconds[kRounds / 2];
  met = met && median <= kGoalSeconds;
  fmt::print("{:<44} {:>7} {:>10.1f} ms {:>8.0f} ms {:>8.1f}x\n", one.name, rows, median * 1e3, kGoalSeconds * 1e3,
             kGoalSeconds / median);
  return {};
}

Result<bool> bench(int count, const fs::path& folder) {
  const auto start = std::chrono::steady_clock::now();
  ASSAY_CHECK(record_runs(folder, count));
  const double recording = since(start);
  fmt::print("{} runs recorded in {:.1f} s ({:.2f} ms each) below {}\n\n", count, recording, recording * 1e3 / count,
             folder.parent_path().string());
  fmt::print("{:<44} {:>7} {:>13} {:>11} {:>9}\n", "open the store and list", "rows", "median", "goal", "ratio");
  bool met = true;
  for (const Case& one :
       {Case{"all, newest first", "", "-created"}, Case{"all, by a metric", "", "metrics.loss"},
        Case{"filtered by metric and tag, by duration", "verdict=valid tag=4gpu metrics.loss<0.5", "-duration"},
        Case{"filtered by part of the name, by name", "name~lora-19", "name"},
        Case{"a page of 100, newest first", "", "-created", 100},
        Case{"a page of 100, by a metric", "", "metrics.loss", 100},
        Case{"a page of 100 of what none fits", "name~nosuch metrics.loss<2", "-created", 100}}) {
    ASSAY_CHECK(measure(folder, one, met));
  }
  return met;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 10'000;
  if (count <= 0) {
    fmt::print(stderr, "usage: bench_list_runs [RUNS] [FOLDER]\n");
    return 2;
  }
  if (argc > 2) {
    ::setenv("TMPDIR", argv[2], 1);
  } else if (fs::is_directory("/dev/shm")) {
    ::setenv("TMPDIR", "/dev/shm", 1);
  }
  const TemporaryFolder folder;
  const auto met = bench(count, folder.path() / "data");
  if (!met.ok()) {
    fmt::print(stderr, "bench_list_runs: {}\n", met.error().text());
    return 1;
  }
  return *met ? 0 : 1;
}
