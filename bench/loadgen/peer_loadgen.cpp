#include "peer_loadgen.h"

#include <early_stopping.h>
#include <fmt/format.h>
#include <query_sample_library.h>
#include <system_under_test.h>
#include <test_settings.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "loadgen/mlperf_schedule.h"
// After the others: LoadGen's header of this name leans on what they include.
#include <loadgen.h>

namespace assay {
namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Answers everything inside the call, as our null target does, and looks at the clock at the first call and the last.
class PeerTarget final : public mlperf::SystemUnderTest {
 public:
  explicit PeerTarget(const PeerPlan& plan)
      : last_(plan.scenario == Scenario::offline ? 1 : plan.queries),
        answers_(plan.scenario == Scenario::offline ? plan.queries : 1) {}
  const std::string& Name() override { return name_; }
  void IssueQuery(const std::vector<mlperf::QuerySample>& samples) override {
    if (calls_ == 0) {
      began_ = now_seconds();
      cpu_began_ = cpu_seconds();
    }
    answers_.resize(std::max(answers_.size(), samples.size()));
    for (std::size_t i = 0; i < samples.size(); ++i) answers_[i].id = samples[i].id;
    mlperf::QuerySamplesComplete(answers_.data(), samples.size());
    if (++calls_ == last_) {
      seconds = now_seconds() - began_;
      cpu = cpu_seconds() - cpu_began_;
    }
  }
  void FlushQueries() override {}

  double seconds = 0;
  double cpu = 0;

 private:
  std::string name_ = "null";
  std::uint64_t last_;
  std::uint64_t calls_ = 0;
  double began_ = 0;
  double cpu_began_ = 0;
  std::vector<mlperf::QuerySampleResponse> answers_;
};

class PeerSamples final : public mlperf::QuerySampleLibrary {
 public:
  explicit PeerSamples(std::size_t samples) : samples_(samples) {}
  const std::string& Name() override { return name_; }
  std::size_t TotalSampleCount() override { return samples_; }
  std::size_t PerformanceSampleCount() override { return samples_; }
  void LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex>&) override {}
  void UnloadSamplesFromRam(const std::vector<mlperf::QuerySampleIndex>&) override {}

 private:
  std::string name_ = "numbers";
  std::size_t samples_;
};

mlperf::TestSettings settings_of(const PeerPlan& plan) {
  mlperf::TestSettings settings;
  settings.mode = mlperf::TestMode::PerformanceOnly;
  settings.min_duration_ms = 0;
  settings.min_query_count = plan.queries;
  settings.max_query_count = plan.queries;
  settings.qsl_rng_seed = MlperfSeeds().qsl;
  settings.sample_index_rng_seed = MlperfSeeds().sample;
  settings.schedule_rng_seed = MlperfSeeds().schedule;
  settings.sample_concatenate_permutation = plan.equal_issue;
  if (plan.scenario == Scenario::server) {
    settings.scenario = mlperf::TestScenario::Server;
    settings.server_target_qps = plan.rate;
  } else if (plan.scenario == Scenario::offline) {
    settings.scenario = mlperf::TestScenario::Offline;
    settings.min_query_count = settings.max_query_count = 1;
    settings.min_duration_ms = 1000;  // one query of `offline_expected_qps` × this (and 10 % for good measure)
    settings.offline_expected_qps = static_cast<double>(plan.queries) / 1.1;
  } else if (plan.scenario == Scenario::multi_stream) {
    settings.scenario = mlperf::TestScenario::MultiStream;
    settings.multi_stream_samples_per_query = plan.samples_per_query;
    settings.multi_stream_expected_latency_ns = 1'000'000;
  } else {
    settings.scenario = mlperf::TestScenario::SingleStream;
    // A hint for how many queries it prepares; fewer than are asked for here would do.
    settings.single_stream_expected_latency_ns = 1'000'000;
  }
  return settings;
}

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// The number behind `key` in a line of JSON that LoadGen wrote.
std::optional<double> number_after(std::string_view line, std::string_view key) {
  const auto at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  return std::strtod(std::string(line.substr(at + key.size(), 32)).c_str(), nullptr);
}

std::vector<PeerQuery> traced(const std::filesystem::path& file) {
  std::vector<std::pair<std::int64_t, PeerQuery>> numbered;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(R"("name":"Sample")") == std::string::npos) continue;
    const auto at = number_after(line, R"("ts":)");
    const auto number = number_after(line, R"("sample_seq":)");
    const auto sample = number_after(line, R"("sample_idx":)");
    const auto latency = number_after(line, R"("complete_ns":)");
    if (!at || !number || !sample || !latency) continue;
    numbered.push_back({static_cast<std::int64_t>(*number),
                        {.scheduled_ns = std::llround(*at * 1e3),
                         .latency_ns = std::llround(*latency),
                         .sample = static_cast<std::uint32_t>(*sample)}});
  }
  std::sort(numbered.begin(), numbered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<PeerQuery> queries;
  for (auto& [number, query] : numbered) {
    query.scheduled_ns -= queries.empty() ? 0 : numbered.front().second.scheduled_ns;
    queries.push_back(query);
  }
  if (!queries.empty()) queries.front().scheduled_ns = 0;
  return queries;
}

}  // namespace

std::optional<double> PeerFigures::value(std::string_view key) const {
  return number_after(detail, fmt::format(R"("key": "{}", "value": )", key));
}

PeerFigures run_peer_loadgen(const PeerPlan& plan) {
  std::string folder = (std::filesystem::temp_directory_path() / "bench_loadgen_XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    fmt::print(stderr, "cannot make a temporary folder\n");
    std::exit(1);
  }
  mlperf::LogSettings logs;
  logs.log_output.outdir = folder;
  logs.enable_trace = plan.trace;
  PeerTarget target(plan);
  PeerSamples samples(plan.samples);
  mlperf::StartTest(&target, &samples, settings_of(plan), logs);
  PeerFigures figures{.seconds = target.seconds, .cpu_seconds = target.cpu};
  figures.detail = text_of(std::filesystem::path(folder) / "mlperf_log_detail.txt");
  if (plan.trace) figures.queries = traced(std::filesystem::path(folder) / "mlperf_log_trace.json");
  std::filesystem::remove_all(folder);
  return figures;
}

std::uint64_t peer_min_passing(std::uint64_t over_latency, double percentile) {
  mlperf::loadgen::MinPassingQueriesFinder finder;
  return static_cast<std::uint64_t>(finder(static_cast<std::int64_t>(over_latency), percentile, 0.0, 0.99));
}

}  // namespace assay
