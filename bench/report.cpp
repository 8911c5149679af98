// How long it takes to report on 200 stored runs as HTML, and to find the percentiles of a million latencies: the
// promises are 2 s and 50 ms.
//
//   bench_report [RUNS] [FOLDER]
//
// The runs are recorded through the Store interface, each with three curves of 2,000 points; in memory (/dev/shm) by
// default, since the disk is not what is measured here.

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "analysis/statistics.h"
#include "base/files.h"
#include "base/random.h"
#include "report/build/gather.h"
#include "report/build/report.h"
#include "report/document.h"
#include "report/render.h"
#include "store/local/local_store.h"
#include "store/run_store.h"
#include "store/run_writer.h"

namespace {

using namespace assay;

constexpr double kReportGoal = 2.0;
constexpr double kPercentileGoal = 0.05;
constexpr int kRounds = 5;
constexpr int kPoints = 2000;

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Result<void> record_one(RunStore& store, const Study& study, int index, Random& random) {
  const PlannedRun& planned = study.plan[static_cast<std::size_t>(index)];
  Run run;
  run.id = planned.run;
  run.name = study.name;
  run.kind = "train";
  run.study = study.id;
  run.variant = planned.variant;
  run.repeat = planned.repeat;
  run.created = run.started = WallTime(std::chrono::seconds(1'700'000'000 + 60 * index));
  run.spec = {{"kind", "train"},
              {"model", "gpt2"},
              {"batch_size", 8 << (index % 20 / 5)},
              {"learning_rate", 1e-4 * (1 + index % 5)}};
  run.provenance.hostname = "gpu01";
  ASSAY_TRY(const auto writer, begin_run(store, run));
  for (const char* name : {"loss", "val_loss", "step_seconds"}) {
    std::vector<SeriesPoint> points;
    points.reserve(kPoints);
    for (int step = 0; step < kPoints; ++step)
      points.push_back(
          {run.created.time_since_epoch().count() + step, step, 5.0 / (1 + step) + 0.01 * random.uniform()});
    ASSAY_CHECK(writer->append_points(writer->open_series({.name = name}, ""), points));
  }
  run.verdict = Verdict::valid;
  run.metrics = {{"samples_per_second", 1000 + 20 * random.uniform()},
                 {"train_seconds", 60 + random.uniform()},
                 {"loss", 0.5 + 0.01 * random.uniform()}};
  run.series = writer->summaries();
  return writer->finish(run);
}

Result<std::string> record_study(RunStore& store, int count) {
  Random random(1, "bench");
  Study study{.name = "sweep"};
  for (int i = 0; i < count; ++i) {
    study.plan.push_back({.variant = fmt::format("batch_size={}, learning_rate={}", 8 << (i % 20 / 5), 1 + i % 5),
                          .repeat = i / 20,
                          .run = fmt::format("bench{:05}", i)});
  }
  ASSAY_CHECK(store.create_study(study));
  for (int i = 0; i < count; ++i) ASSAY_CHECK(record_one(store, study, i, random));
  return study.id;
}

Result<double> report_seconds(const fs::path& folder, const std::string& study, std::size_t& bytes) {
  const auto start = std::chrono::steady_clock::now();
  ASSAY_TRY(const auto store, open_local_store(folder));
  const std::string references[] = {study};
  ASSAY_TRY(const auto input, gather(*store, references));
  bytes = render_html(report_on(input)).size();
  return since(start);
}

double percentile_seconds() {
  Random random(2, "latencies");
  std::vector<double> latencies(1'000'000);
  for (double& latency : latencies) latency = 0.1 / (1e-3 + random.uniform());
  const double ps[] = {0.5, 0.9, 0.95, 0.99, 0.999};
  const auto start = std::chrono::steady_clock::now();
  const auto found = percentiles_nearest(latencies, ps);
  return found.size() == 5 ? since(start) : 0;
}

int report_result(const char* what, double seconds, double goal) {
  fmt::print("{:<44} {:>8.1f} ms   goal {:>6.0f} ms   {}\n", what, seconds * 1000, goal * 1000,
             seconds <= goal ? "met" : "MISSED");
  return seconds <= goal ? 0 : 1;
}

int measure(const fs::path& folder, int runs) {
  const auto store = open_local_store(folder);
  const auto study = store ? record_study(**store, runs) : Result<std::string>(store.error());
  if (!study) {
    fmt::print(stderr, "{}\n", study.error().text());
    return 2;
  }
  double fastest = 1e9;
  double percentiles = 1e9;
  std::size_t bytes = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto seconds = report_seconds(folder, *study, bytes);
    if (!seconds) {
      fmt::print(stderr, "{}\n", seconds.error().text());
      return 2;
    }
    fastest = std::min(fastest, *seconds);
    percentiles = std::min(percentiles, percentile_seconds());
  }
  fmt::print("fastest of {} rounds; the HTML has {:.1f} MB\n", kRounds, static_cast<double>(bytes) / 1e6);
  return report_result(fmt::format("HTML report of {} runs, store opened", runs).c_str(), fastest, kReportGoal) |
         report_result("five percentiles of 1,000,000 latencies", percentiles, kPercentileGoal);
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 200;
  if (runs < 1 || runs > 99'999) {
    fmt::print(stderr, "bench_report [RUNS] [FOLDER]: RUNS is 1 to 99999\n");
    return 2;
  }
  if (argc > 2) {
    ::setenv("TMPDIR", argv[2], 1);
  } else if (fs::is_directory("/dev/shm")) {
    ::setenv("TMPDIR", "/dev/shm", 1);
  }
  const TemporaryFolder folder;
  return measure(folder.path() / "data", runs);
}
