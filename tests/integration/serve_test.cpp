#include <gmock/gmock.h>

#include "support/assay_cli.h"

namespace assay {
namespace {

using testing::HasSubstr;

// What a machine under test can deliver in time is not a test's business: runs here may end as invalid (4), since the
// client was late or starved, but they end with all of their figures.

class Serving : public testing::Test {
 protected:
  AssayCli cli_;
};

TEST_F(Serving, ALoadIsARunLikeAnyOther) {
  const auto spec = cli_.write("load.yaml",
                               "kind: serve\ntarget: {name: 'null', service_time: 1ms}\nscenario: server\nrate: 500/s\n"
                               "samples: 100\nmin_duration: 2s\nlimits: {e2e_p90: 10s}\n");
  int code = -1;
  cli_.json({"run", spec}, &code);
  EXPECT_TRUE(code == 0 || code == 4) << code;
  const auto run = cli_.last_run();
  const auto& metrics = run.at("metrics").as_object();
  EXPECT_EQ(metrics.at("success_rate").to_number<double>(), 1);
  EXPECT_GE(metrics.at("samples_asked").to_number<double>(), 800);
  EXPECT_GE(metrics.at("latency_min_seconds").to_number<double>(), 0.001);
  for (const auto* name : {"lateness_p99_seconds", "ttft_p99_seconds", "tpot_p99_seconds", "goodput_per_second"}) {
    EXPECT_TRUE(metrics.contains(name)) << name;
  }
  EXPECT_FALSE(cli_.last_series("requests_in_flight").empty()) << "live figures";
}

TEST_F(Serving, ItsLogsAreReadBackAsThoseOfLoadgen) {
  const auto spec = cli_.write("load.yaml",
                               "kind: serve\ntarget: 'null'\nscenario: offline\nsamples: 5000\nmin_duration: 0s\n"
                               "randomness: loadgen\n");
  cli_.run({"run", spec});
  const std::string artifacts =
      (cli_.data() / "runs" / std::string(cli_.last_run().at("id").as_string()) / "artifacts").string();
  const auto imported =
      cli_.run({"import", "loadgen", artifacts + "/mlperf_log_summary.txt", artifacts + "/mlperf_log_detail.txt"});
  EXPECT_TRUE(imported.exit_code == 0 || imported.exit_code == 4) << imported.error;
  EXPECT_THAT(imported.out, HasSubstr("offline"));
}

TEST_F(Serving, AServerThatIsNotThereIsAnError) {
  const auto spec =
      cli_.write("load.yaml", "kind: serve\nmodel: m\ntarget: {openai: 'http://127.0.0.1:1/v1'}\nrate: 5/s\n");
  const auto answer = cli_.run({"run", spec});
  EXPECT_EQ(answer.exit_code, 3) << answer.out << answer.error;
  EXPECT_THAT(answer.out + answer.error, HasSubstr("127.0.0.1:1"));
}

}  // namespace
}  // namespace assay
