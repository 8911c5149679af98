#include "exchange/run_series.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "importers/csv/metrics_csv.h"

namespace assay {
namespace {

using testing::HasSubstr;

bool same_value(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

void expect_same(const std::vector<SeriesWithPoints>& got, const std::vector<SeriesWithPoints>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].key, expected[i].key);
    ASSERT_EQ(got[i].unit, expected[i].unit);
    ASSERT_EQ(got[i].points.size(), expected[i].points.size()) << expected[i].key.name;
    for (std::size_t j = 0; j < got[i].points.size(); ++j) {
      ASSERT_EQ(got[i].points[j].time_ns, expected[i].points[j].time_ns);
      ASSERT_EQ(got[i].points[j].step, expected[i].points[j].step);
      ASSERT_TRUE(same_value(got[i].points[j].value, expected[i].points[j].value))
          << got[i].points[j].value << " " << expected[i].points[j].value;
    }
  }
}

std::string random_text(Random& random) {
  static constexpr std::string_view kPieces[] = {"loss", "a", " ", ",", ";", "\t", "\"", "\n",  "\r\n", "\\", "{", "}",
                                                 "[",    "]", "=", "'", "é", "█",  "%",  " - ", "step", "0",  "|"};
  std::string text;
  for (std::uint64_t n = random.below(6); n-- > 0;) text += kPieces[random.below(std::size(kPieces))];
  return text;
}

double random_value(Random& random) {
  switch (random.below(10)) {
    case 0: return std::nan("");
    case 1: return std::numeric_limits<double>::infinity();
    case 2: return -std::numeric_limits<double>::infinity();
    case 3: return -0.0;
    case 4: return std::bit_cast<double>(random.bits64() & ~(std::uint64_t{1} << 62));
    case 5: return std::numeric_limits<double>::denorm_min();
    case 6: return static_cast<double>(random.below(1000));
    default: return random.normal(0, 1);
  }
}

std::vector<SeriesWithPoints> random_series(Random& random) {
  std::vector<SeriesWithPoints> all(random.below(5));
  for (auto& series : all) {
    series.key.name = random_text(random);
    for (std::uint64_t n = random.below(3); n-- > 0;) series.key.labels[random_text(random)] = random_text(random);
    series.unit = random.below(2) ? random_text(random) : "";
    for (std::uint64_t n = random.below(12); n-- > 0;) {
      // Times that are out of order, equal to those of other series, and at both ends of what they can be.
      const std::int64_t time = random.below(20) == 0
                                    ? std::numeric_limits<std::int64_t>::min()
                                    : 1762852449810000000 + static_cast<std::int64_t>(random.below(4));
      const std::int64_t step = random.below(3) == 0 ? kNoStep : static_cast<std::int64_t>(random.below(4));
      series.points.push_back({time, step, random_value(random)});
    }
  }
  return all;
}

TEST(RunSeries, CsvComesBackToTheLastBit) {
  Random random(1, "csv round trip");
  for (int round = 0; round < 3000; ++round) {
    const auto series = random_series(random);
    const std::string text = write_series_csv(series);
    const auto import = parse_metrics_csv(text, "run.csv");
    ASSERT_TRUE(import.ok()) << import.error().text() << text;
    ASSERT_EQ(import->layout, CsvLayout::assay);
    ASSERT_TRUE(import->flags.empty()) << import->flags.front().message << text;
    ASSERT_EQ(import->runs.size(), 1u);
    expect_same(import->runs.front().series, series);
    if (testing::Test::HasFatalFailure()) FAIL() << text;
  }
}

TEST(RunSeries, JsonComesBackToTheLastBit) {
  Random random(2, "json round trip");
  for (int round = 0; round < 3000; ++round) {
    RunWithSeries run{.series = random_series(random)};
    run.run.id = "k3v9";
    run.run.name = random_text(random);
    run.run.kind = "train";
    run.run.metrics["loss"] = random.normal(0, 1);
    run.run.flags.push_back({"non_finite", "loss", random_text(random)});
    const std::string text = write_run_json(run);
    const auto read = parse_runs_json(text, "run.json");
    ASSERT_TRUE(read.ok()) << read.error().text() << text;
    ASSERT_EQ(read->size(), 1U);
    const RunWithSeries& same = read->front();
    ASSERT_EQ(same.run.name, run.run.name);
    ASSERT_EQ(same.run.flags, run.run.flags);
    ASSERT_TRUE(same_value(same.run.metrics.at("loss"), run.run.metrics.at("loss")));
    expect_same(same.series, run.series);
    if (testing::Test::HasFatalFailure()) FAIL() << text;
  }
}

TEST(RunSeries, TheCsvIsOneRowPerMoment) {
  const std::vector<SeriesWithPoints> series = {
      {.key = {"loss", {}}, .points = {{10, 1, 0.5}, {20, 2, std::nan("")}}},
      {.key = {"gpu.util", {{"gpu", "0"}}}, .unit = "ratio", .points = {{15, kNoStep, 0.75}, {20, 2, 1}}}};
  EXPECT_EQ(write_series_csv(series),
            "step,time_ns,loss,\"gpu.util{gpu=\"\"0\"\"} [ratio]\"\n"
            "1,10,0.5,\n"
            ",15,,0.75\n"
            "2,20,NaN,1\n");
  EXPECT_EQ(write_series_csv({}), "step,time_ns\n");
}

TEST(RunSeries, ACutExportSaysSo) {
  const std::string text = write_series_csv({{.key = {"loss", {}}, .points = {{10, 1, 0.5}, {20, 2, 0.125}}}});
  const auto cut = parse_metrics_csv(text.substr(0, text.size() - 3), "run.csv");
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->runs[0].series[0].points.size(), 1u);
  ASSERT_EQ(cut->flags.size(), 1u);
  EXPECT_EQ(cut->flags[0].kind, "cut_file");
}

TEST(RunSeries, TitlesThatAreNoneStayNames) {
  EXPECT_EQ(read_series_title("loss [s]")->second, "s");
  EXPECT_EQ(read_series_title("loss")->first.name, "loss");
  for (const auto* title : {"a{", "a{b}", "a{b=\"c\"", "a{b=\"c\"}x", "a[s]", "a [s", "a [s]x"}) {
    EXPECT_FALSE(read_series_title(title)) << title;
  }
}

TEST(RunSeries, DamagedJsonIsAnError) {
  const RunWithSeries run{.run = {.id = "a", .kind = "train"},
                          .series = {{.key = {"loss", {}}, .points = {{1, 1, HUGE_VAL}}}}};
  const std::string text = write_run_json(run);
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    ASSERT_FALSE(parse_runs_json(text.substr(0, length), "run.json").ok()) << length;
  }
  const auto error_of = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    const auto read = parse_runs_json(changed, "run.json");
    return read ? std::string("read") : read.error().text();
  };
  EXPECT_THAT(error_of("assay-run", "other"), HasSubstr("'format' is not that of an exported run"));
  EXPECT_THAT(error_of("\"schema\":1", "\"schema\":99"), HasSubstr("newer assay"));
  EXPECT_THAT(error_of("\"step\":[1]", "\"step\":[1,2]"), HasSubstr("differ in length"));
  EXPECT_THAT(error_of("\"step\":[1]", "\"step\":[1.5]"), HasSubstr("no whole number"));
  EXPECT_THAT(error_of("\"infinite\":[0]", "\"infinite\":[7]"), HasSubstr("names a point that is not there"));
  EXPECT_THAT(error_of("\"value\":[null]", "\"value\":[\"x\"]"), HasSubstr("no number"));
}

}  // namespace
}  // namespace assay
