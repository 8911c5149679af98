#include "serving/serve_load.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/text.h"
#include "serving/live_figures.h"
#include "spec/spec.h"
#include "target/null/null_target.h"
#include "target/refusing_target_fixture.h"

namespace assay {
namespace {

using std::chrono::milliseconds;

class ServeTest : public testing::Test {
 protected:
  ServeTest() {
    char pattern[] = "/tmp/assay-serve-XXXXXX";
    folder = ::mkdtemp(pattern);
    events.emplace("file:" + (folder / "events").string());
  }
  ~ServeTest() override { fs::remove_all(folder); }

  static ServeSettings settings_of(std::string_view yaml) {
    const auto reading = read_spec("kind: serve\n" + std::string(yaml), "b.yaml");
    std::string problems;
    for (const auto& diagnostic : reading.diagnostics) problems += diagnostic.text() + "\n";
    EXPECT_TRUE(reading.spec) << problems;
    auto settings = read_serve_settings(reading.spec->settings);
    EXPECT_TRUE(settings.ok());
    return *settings;
  }

  ServePlace place() {
    return {.carrier = {.make_target = [this](const ServeSettings& settings,
                                              const ServeRequests&) -> Result<std::unique_ptr<Target>> {
                          ++targets_made;
                          return std::unique_ptr<Target>(
                              std::make_unique<NullTarget>(NullTargetOptions{.service_time = settings.service_time,
                                                                             .slots = settings.slots,
                                                                             .output_tokens = settings.output_tokens}));
                        },
                        .run = "r-1"},
            .events = *events,
            .artifacts = folder};
  }

  /// The events of one type, in order.
  std::vector<json::object> said(std::string_view type) const {
    std::vector<json::object> found;
    const std::string text = read_file(folder / "events").value();
    for (const auto line : split(text, '\n')) {
      if (line.empty()) continue;
      const json::value event = json::parse(line);
      if (event.at("type").as_string() == type) found.push_back(event.as_object());
    }
    return found;
  }

  fs::path folder;
  std::optional<ServeEvents> events;
  int targets_made = 0;
};

TEST_F(ServeTest, ReadsItsSettings) {
  const auto settings = settings_of(
      "target: {name: 'null', service_time: 5ms, slots: 3}\nscenario: ramp\nrate: 7/s\nramp: {to: 9/s, duration: 3s, "
      "steps: "
      "2}\nseed: 12\nwarmup: 2s\nlimits: {ttft_p99: 2s}\n");
  EXPECT_EQ(settings.target, "null");
  EXPECT_EQ(settings.service_time, milliseconds(5));
  EXPECT_EQ(settings.slots, 3u);
  EXPECT_EQ(settings.scenario, Scenario::ramp);
  EXPECT_EQ(settings.ramp.from_per_second, 7);
  EXPECT_EQ(settings.ramp.to_per_second, 9);
  EXPECT_EQ(settings.ramp.steps, 2u);
  EXPECT_EQ(settings.seed, 12u);
  EXPECT_EQ(settings.warmup, std::chrono::seconds(2));
  ASSERT_EQ(settings.limits.size(), 1u);
  EXPECT_EQ(name_of(settings.limits[0]), "ttft_p99");
  EXPECT_FALSE(settings.find_peak);
  EXPECT_TRUE(settings_of("target: 'null'\nfind_peak: {e2e_p90: 1s}\n").find_peak);
}

TEST_F(ServeTest, ARunSaysItsResultAndLeavesItsLogs) {
  const auto settings = settings_of(
      "target: 'null'\nscenario: single_stream\nsamples: 200\nmin_duration: 0s\nrequests: {output_tokens: 3}\n");
  ASSERT_TRUE(serve(settings, place(), {}).ok());
  ASSERT_EQ(said("hello").size(), 1u);
  const auto results = said("result");
  ASSERT_EQ(results.size(), 1u);
  const auto& metrics = results[0].at("metrics").as_object();
  EXPECT_EQ(metrics.at("samples_asked").to_number<int>(), 200);
  EXPECT_EQ(metrics.at("success_rate").to_number<double>(), 1);
  EXPECT_TRUE(metrics.contains("latency_p99_seconds"));
  EXPECT_TRUE(metrics.contains("lateness_p99_seconds")) << "of every load";
  EXPECT_THAT(read_file(folder / "mlperf_log_summary.txt").value(), testing::HasSubstr("Scenario : SingleStream"));
  EXPECT_THAT(read_file(folder / "mlperf_log_detail.txt").value(), testing::HasSubstr(":::MLLOG"));
}

TEST_F(ServeTest, LeavesAProfileOfTheLoad) {
  const auto settings = settings_of(
      "target: {name: 'null', service_time: 1ms}\nscenario: closed\nconcurrency: 8\nsamples: 2000\nmin_duration: 0s\n"
      "requests: {output_tokens: 3}\n");
  ASSERT_TRUE(serve(settings, place(), {}).ok());
  const auto profile = load_profile_from_json(json::parse(read_file(folder / kLoadProfileFile).value()));
  ASSERT_TRUE(profile.ok()) << profile.error().text();
  EXPECT_EQ(profile->latency.count, 2000u);
  ASSERT_EQ(profile->latency.quantiles_ns.size(), kMostQuantiles);
  const json::object metrics = said("result")[0].at("metrics").as_object();
  const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-9; };
  EXPECT_DOUBLE_EQ(seconds(profile->latency.quantiles_ns.front()),
                   metrics.at("latency_min_seconds").to_number<double>());
  EXPECT_DOUBLE_EQ(seconds(profile->latency.quantiles_ns.back()),
                   metrics.at("latency_max_seconds").to_number<double>());
  EXPECT_EQ(profile->answers.answers, 2000u);
  EXPECT_EQ(profile->answers.fewest_tokens, 3u);
  EXPECT_EQ(profile->answers.mean_tokens, 3);
  ASSERT_EQ(profile->endpoints.size(), 1u);
  EXPECT_EQ(profile->endpoints[0].ok, 2000u);
  EXPECT_EQ(profile->endpoints[0].output_tokens, 6000u);
  EXPECT_DOUBLE_EQ(*profile->endpoints[0].latency_p99_s, metrics.at("latency_p99_seconds").to_number<double>());
  EXPECT_THAT(profile->probes, testing::IsEmpty());
}

TEST_F(ServeTest, EveryScenarioGoesThrough) {
  for (const std::string scenario :
       {"single_stream", "multi_stream", "offline", "closed", "server", "constant", "burst", "ramp"}) {
    std::string yaml = "target: 'null'\nsamples: 100\nmin_duration: 0s\nscenario: " + scenario + "\n";
    if (is_open_loop(*scenario_from(scenario))) yaml += "rate: 2000/s\n";
    if (scenario == "ramp") yaml += "ramp: {to: 4000/s, duration: 10ms}\n";
    const auto load = serve_load(settings_of(yaml), place(), {}, {});
    ASSERT_TRUE(load.ok()) << scenario << ": " << load.error().text();
    EXPECT_EQ(load->result.queries, 100u) << scenario;
    EXPECT_EQ(load->result.success_rate, 1) << scenario;
  }
}

TEST_F(ServeTest, ARampIsClimbedToItsEnd) {
  const auto ramp = [](const std::string& more) {
    return plan_of(settings_of("target: 'null'\nscenario: ramp\nramp: {to: 90/s, duration: 40s}\nsamples: 1\n" + more),
                   {});
  };
  EXPECT_EQ(ramp("").min_duration, std::chrono::seconds(40)) << "min_duration is 10 s where nobody says otherwise";
  EXPECT_EQ(ramp("warmup: 5s\n").min_duration, std::chrono::seconds(35));
  EXPECT_EQ(ramp("min_duration: 2min\n").min_duration, std::chrono::minutes(2));
  const auto load = serve_load(settings_of("target: 'null'\nscenario: ramp\nrate: 100/s\nramp: {to: 300/s, duration: "
                                           "500ms}\nsamples: 1\nmin_duration: 0s\n"),
                               place(), {}, {});
  ASSERT_TRUE(load.ok()) << load.error().text();
  EXPECT_GT(load->result.measured, 50u) << "a hundred are due until its end";
}

TEST_F(ServeTest, TellsThePercentilesThatLimitsAreAbout) {
  const auto load = serve_load(settings_of("target: 'null'\nscenario: closed\nsamples: 50\nmin_duration: 0s\n"
                                           "limits: {ttft_p95: 1s, tpot_p99.9: 1s, e2e_p97: 1s}\n"),
                               place(), {}, {});
  ASSERT_TRUE(load.ok()) << load.error().text();
  const json::object metrics = metrics_of(load->result);
  for (const char* name : {"ttft_p95_seconds", "tpot_p99_9_seconds", "latency_p97_seconds"}) {
    EXPECT_TRUE(metrics.contains(name)) << name;
  }
  EXPECT_FALSE(metrics.contains("ttft_p97_seconds"));
}

TEST_F(ServeTest, AnOfflineLoadOfAWholeSmallSetIsAsLargeAsMlperfAsks) {
  ASSERT_TRUE(write_file_atomically(folder / "prompts.jsonl", "{\"prompt\": \"a\"}\n{\"prompt\": \"b\"}\n").ok());
  const std::string file = "target: 'null'\nscenario: offline\nmin_duration: 0s\nrequests: {dataset: 'file:" +
                           (folder / "prompts.jsonl").string() + "'}\n";
  const auto whole = serve_load(settings_of(file + "samples: 2\n"), place(), {}, {});
  ASSERT_TRUE(whole.ok()) << whole.error().text();
  EXPECT_EQ(whole->rules.official_offline_samples, 2u);
  const auto generated =
      serve_load(settings_of("target: 'null'\nscenario: offline\nmin_duration: 0s\n"), place(), {}, {});
  ASSERT_TRUE(generated.ok()) << generated.error().text();
  EXPECT_EQ(generated->rules.official_offline_samples, 24'576u);
}

TEST_F(ServeTest, PromptsThatAreAskedForAgainAreNamed) {
  ASSERT_TRUE(write_file_atomically(folder / "prompts.jsonl", "{\"prompt\": \"a\"}\n{\"prompt\": \"b\"}\n").ok());
  const auto repeats = [&](std::string_view samples, std::uint32_t number) {
    auto settings = settings_of(fmt::format(
        "target: 'null'\nscenario: single_stream\nmin_duration: 0s\nsamples: {}\nrequests: {{dataset: 'file:{}'}}\n",
        samples, (folder / "prompts.jsonl").string()));
    settings.target = "a server";
    const auto load = serve_load(settings, place(), {.number = number}, {});
    EXPECT_TRUE(load.ok());
    return load && std::any_of(load->result.flags.begin(), load->result.flags.end(),
                               [](const Flag& flag) { return flag.kind == "prompts_repeated"; });
  };
  EXPECT_FALSE(repeats("2", 0));
  EXPECT_TRUE(repeats("3", 0));
  EXPECT_TRUE(repeats("2", 1)) << "the load before asked for the same";
}

TEST_F(ServeTest, ATraceIsReplayed) {
  ASSERT_TRUE(
      write_file_atomically(folder / "trace.jsonl",
                            "{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 2, \"hash_ids\": []}\n"
                            "{\"timestamp\": 500, \"input_length\": 10, \"output_length\": 2, \"hash_ids\": []}\n")
          .ok());
  auto settings = settings_of("target: 'null'\nscenario: trace\ntrace: t\nspeed_up: 100\n");
  settings.trace_file = folder / "trace.jsonl";
  const auto load = serve_load(settings, place(), {}, {});
  ASSERT_TRUE(load.ok()) << load.error().text();
  EXPECT_EQ(load->result.measured, 2u);
  settings.warmup = milliseconds(3);
  const auto warmed_up = serve_load(settings, place(), {}, {});
  ASSERT_TRUE(warmed_up.ok()) << warmed_up.error().text();
  EXPECT_EQ(warmed_up->result.issued, 2u);
  EXPECT_EQ(warmed_up->result.measured, 1u) << "the second is due after 5 ms";
  for (const auto& flag : warmed_up->result.flags) EXPECT_NE(flag.kind, "too_few") << flag.message;
  settings.trace_file = folder / "none.jsonl";
  EXPECT_FALSE(serve_load(settings, place(), {}, {}).ok());
}

TEST_F(ServeTest, AccuracyAsksForEverySampleOnce) {
  ASSERT_TRUE(write_file_atomically(folder / "prompts.jsonl", "{\"prompt\": \"a\"}\n{\"prompt\": \"b\"}\n").ok());
  auto settings = settings_of("target: 'null'\nscenario: offline\nmode: accuracy\n");
  const auto endless = serve_load(settings, place(), {}, {});
  ASSERT_FALSE(endless.ok());
  EXPECT_EQ(endless.error().kind, ErrorKind::bad_spec);
  settings.spec["requests"].as_object()["dataset"] = "file:" + (folder / "prompts.jsonl").string();
  const auto served = serve(settings, place(), {});
  ASSERT_TRUE(served.ok()) << served.error().text();
  EXPECT_EQ(said("result")[0].at("metrics").at("samples_asked").to_number<int>(), 2);
  EXPECT_THAT(read_file(folder / "mlperf_log_accuracy.json").value(), testing::HasSubstr("\"qsl_idx\" : 1"));
}

TEST_F(ServeTest, TheLogsOfASearchAreOfTheLoadThatItNames) {
  // Keeps up at half as much again as the first rate, and never twice at the same: the last probe fails.
  std::vector<double> rates;
  ServePlace failing = place();
  failing.carrier.make_target = [&](const ServeSettings& settings,
                                    const ServeRequests&) -> Result<std::unique_ptr<Target>> {
    NullTargetOptions options{.service_time = milliseconds(10)};
    if (settings.find_peak && !rates.empty() &&
        (settings.rate > 1.5 * rates.front() || std::find(rates.begin(), rates.end(), settings.rate) != rates.end())) {
      options.fail_every = 1;
    }
    if (settings.find_peak) rates.push_back(settings.rate);
    return std::unique_ptr<Target>(std::make_unique<NullTarget>(options));
  };
  const auto settings = settings_of("target: 'null'\nfind_peak: {e2e_p50: 100s}\nsamples: 50\nmin_duration: 0s\n");
  ASSERT_TRUE(serve(settings, failing, {}).ok());
  const auto metrics = said("result")[0].at("metrics").as_object();
  EXPECT_THAT(read_file(folder / "mlperf_log_detail.txt").value(),
              testing::HasSubstr(fmt::format("\"key\": \"result_completed_samples_per_sec\", \"value\": {:.9g},",
                                             metrics.at("samples_per_second").to_number<double>())));
}

TEST_F(ServeTest, AClosedLoopOnADeadServerEndsAsFailed) {
  ServePlace dead = place();
  dead.carrier.make_target = [](const ServeSettings&, const ServeRequests&) -> Result<std::unique_ptr<Target>> {
    return std::unique_ptr<Target>(std::make_unique<RefusingTarget>());
  };
  const auto settings = settings_of("target: 'null'\nscenario: closed\nconcurrency: 4\nmin_duration: 1h\n");
  const auto served = serve(settings, dead, {});
  ASSERT_FALSE(served.ok());
  EXPECT_EQ(served.error().kind, ErrorKind::lost_peer);
  EXPECT_THAT(served.error().text(), testing::HasSubstr("the target fails: "));
  ASSERT_EQ(said("result").size(), 1u) << "what was measured is told nevertheless";
  EXPECT_GT(said("result")[0].at("metrics").at("errors_connect").to_number<int>(), 0);

  const auto search = serve(settings_of("target: 'null'\nfind_peak: {e2e_p50: 1s}\nmin_duration: 0s\n"), dead, {});
  ASSERT_FALSE(search.ok());
  EXPECT_THAT(search.error().text(), testing::HasSubstr("before the search ended well"));
}

TEST_F(ServeTest, AStopEndsTheRunAsInterrupted) {
  auto settings = settings_of("target: 'null'\nscenario: constant\nrate: 20/s\nmin_duration: 1h\n");
  std::stop_source source;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(milliseconds(50));
    source.request_stop();
  });
  const auto served = serve(settings, place(), source.get_token());
  ASSERT_FALSE(served.ok());
  EXPECT_EQ(served.error().kind, ErrorKind::interrupted);
}

TEST_F(ServeTest, AWrongLimitIsRefused) {
  EXPECT_FALSE(read_serve_settings({{"kind", "serve"}, {"limits", {{"foo_p99", 1.0}}}}).ok());
}

TEST(LiveFigures, ArePutTogetherFromWhatEndedSince) {
  QueryRecorder recorder({});
  recorder.start_at(SteadyTime());
  std::vector<Request> requests(4);
  for (std::uint64_t id = 0; id < 4; ++id) requests[id] = {.id = id};
  ASSERT_TRUE(recorder.take_down(requests, SteadyTime()));
  const auto end = [&](std::uint64_t id, Nanos at, RequestOutcome outcome) {
    recorder.complete(Completion{
        .id = id, .first_token = SteadyTime(at / 2), .done = SteadyTime(at), .output_tokens = 11, .outcome = outcome});
  };
  std::uint64_t over = 0;
  LiveFigures figures(recorder, {{LatencyMeasure::end_to_end, 0.99, milliseconds(50)}});
  end(2, milliseconds(20), RequestOutcome::ok);
  const auto metrics = [&] {
    const LiveMoment moment = figures.since_last();
    over += moment.over;
    return live_metrics(std::span(&moment, 1), std::chrono::seconds(1));
  };
  auto first = metrics();
  EXPECT_EQ(first.at("requests_sent_per_second").to_number<double>(), 4);
  EXPECT_EQ(first.at("requests_done_per_second").to_number<double>(), 1);
  EXPECT_EQ(first.at("requests_in_flight").to_number<int>(), 3);
  EXPECT_DOUBLE_EQ(first.at("latency_seconds").to_number<double>(), 0.02);
  EXPECT_DOUBLE_EQ(first.at("tpot_seconds").to_number<double>(), 0.001);
  EXPECT_EQ(over, 0u);
  end(0, milliseconds(100), RequestOutcome::ok);
  end(1, milliseconds(30), RequestOutcome::timeout);
  auto second = metrics();
  EXPECT_EQ(second.at("requests_sent_per_second").to_number<double>(), 0);
  EXPECT_EQ(second.at("requests_failed_per_second").to_number<double>(), 1);
  EXPECT_EQ(over, 2u);
  EXPECT_FALSE(metrics().contains("latency_seconds"));
}

}  // namespace
}  // namespace assay
