#include "importers/csv/metrics_csv.h"

#include <fmt/format.h>

#include <cmath>

#include "importers/csv/csv_reader.h"
#include "importers/text/import_fixture.h"
#include "support/source_tree.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CsvImport import_text(std::string_view text, std::string_view name = "metrics.csv", const CsvOptions& options = {}) {
  auto import = parse_metrics_csv(text, name, options);
  EXPECT_TRUE(import.ok()) << (import ? "" : import.error().text());
  return import ? std::move(import).value() : CsvImport{};
}

/// `run/name{labels}: step@time=value …`, one line per series.
std::string shown(const CsvImport& import) {
  std::string text;
  for (const auto& run : import.runs) {
    for (const auto& series : run.series) {
      text += fmt::format("{}/{}:", run.name, series_title(series.key, series.unit));
      for (const auto& point : series.points) {
        text += fmt::format(" {}@{}={}", point.step, static_cast<double>(point.time_ns) / 1e9, point.value);
      }
      text += '\n';
    }
  }
  return text;
}

std::vector<std::vector<std::string>> records_of(std::string_view text, char separator = ',') {
  CsvReader reader(text, separator);
  std::vector<std::string_view> cells;
  std::vector<std::vector<std::string>> records;
  while (reader.next(cells)) records.emplace_back(cells.begin(), cells.end());
  return records;
}

using Records = std::vector<std::vector<std::string>>;

TEST(Csv, RecordsByTheStandard) {
  EXPECT_EQ(records_of("a,b\n1,2\n"), (Records{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(records_of("a,b\r\n1,2"), (Records{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(records_of("a\rb\r"), (Records{{"a"}, {"b"}}));
  EXPECT_EQ(records_of("\"a,b\",\"c\"\"d\",\"e\nf\"\n"), (Records{{"a,b", "c\"d", "e\nf"}}));
  EXPECT_EQ(records_of("a,,\n,\n"), (Records{{"a", "", ""}, {"", ""}}));
  EXPECT_EQ(records_of("a\n\n\r\nb"), (Records{{"a"}, {"b"}}));
  EXPECT_EQ(records_of("\"\"\"\",\"\"\n"), (Records{{"\"", ""}}));
  EXPECT_EQ(records_of(""), Records{});
}

TEST(Csv, RecordsThatBendTheStandard) {
  EXPECT_EQ(records_of("a\"b,\"c\"d,e\n"), (Records{{"a\"b", "cd", "e"}}));
  EXPECT_EQ(records_of("a,\"open\nb"), (Records{{"a", "open\nb"}}));
  EXPECT_EQ(records_of("a,\"two\"\"q"), (Records{{"a", "two\"q"}}));
  CsvReader reader("a,\"open", ',');
  std::vector<std::string_view> cells;
  EXPECT_TRUE(reader.next(cells));
  EXPECT_TRUE(reader.ended_in_quotes());
}

TEST(Csv, LinesAreThoseOfTheFile) {
  CsvReader reader("a\n\"x\ny\"\n\nb\n", ',');
  std::vector<std::string_view> cells;
  std::vector<std::int64_t> lines;
  while (reader.next(cells)) lines.push_back(reader.line());
  EXPECT_THAT(lines, ElementsAre(1, 2, 5));
}

TEST(Csv, SeparatorsAreFoundOut) {
  EXPECT_EQ(sniff_separator("a,b\n1,2\n"), ',');
  EXPECT_EQ(sniff_separator("a;b\n1,5;2,5\n"), ';');
  EXPECT_EQ(sniff_separator("a\tb\n1\t2\n"), '\t');
  EXPECT_EQ(sniff_separator("\"x;y\",b\n1,2\n"), ',');
  EXPECT_EQ(sniff_separator("loss\n1\n"), ',');
}

TEST(MetricsCsv, WandbChartWithBounds) {
  const auto import = import_text(fixture("csv/wandb-chart.csv"));
  EXPECT_EQ(listed(import.flags), "");
  EXPECT_EQ(shown(import),
            "spiral-1gpu/val_loss: 0@0=0.6693 10@0=0.2251 49@0=0.1187\n"
            "spiral-4gpu/val_loss: 0@0=0.6702 10@0=0.2263 20@0=0.1392 49@0=0.1192\n"
            "spiral-4gpu/val_loss{bound=\"min\"}: 0@0=0.6684 10@0=0.2259 20@0=0.1391 49@0=0.1192\n"
            "spiral-4gpu/val_loss{bound=\"max\"}: 0@0=0.6711 10@0=0.2271 20@0=0.1394 49@0=0.1192\n");
}

TEST(MetricsCsv, WandbHistory) {
  const auto import = import_text(fixture("csv/wandb-history.csv"));
  EXPECT_EQ(listed(import.flags), "");
  ASSERT_EQ(import.runs.size(), 1u);
  const auto& series = import.runs[0].series;
  ASSERT_EQ(series.size(), 5u);
  EXPECT_EQ(series[0].key.name, "epoch");
  EXPECT_EQ(series[1].key.name, "loss");
  EXPECT_EQ(series[1].source_name, "train/loss");
  EXPECT_EQ(series[2].key.name, "val_loss");
  EXPECT_EQ(series[3].key.name, "val_accuracy");
  EXPECT_EQ(series[4].key.name, "learning_rate");
  EXPECT_EQ(series[1].points.size(), 3u);
  EXPECT_EQ(series[1].points[1].step, 313);
  EXPECT_NEAR(static_cast<double>(series[1].points[1].time_ns), 1762852457.05e9, 1e3);
  EXPECT_TRUE(std::isnan(series[2].points[2].value));
  EXPECT_THAT(import.ignored_columns, ElementsAre("_runtime"));
  EXPECT_FALSE(import.relative_time);
}

TEST(MetricsCsv, CometAndMlflowRowPerValue) {
  const auto comet = import_text(fixture("csv/comet-metrics.csv"));
  EXPECT_EQ(comet.layout, CsvLayout::tall);
  EXPECT_EQ(listed(comet.flags), "");
  EXPECT_EQ(shown(comet),
            "/loss: 0@1762852449.81=0.7012 313@1762852457.05=0.6051\n"
            "/val_loss: 0@1762852449.815=0.6693 313@1762852457.055=0.583\n"
            "/sys.gpu.0.gpu_utilization: -1@1762852450=63\n");
  const auto mlflow = import_text(fixture("csv/mlflow-metrics.csv"));
  EXPECT_EQ(shown(mlflow),
            "bold-finch/loss: 0@1762852449.81=0.7012 1@1762852457.05=0.6051\n"
            "calm-newt/loss: 0@1762852449.999=0.6902\n");
}

TEST(MetricsCsv, TensorboardNamesTheMetricByItsFile) {
  const auto import = import_text(fixture("csv/tensorboard-loss.csv"), "train_loss.csv");
  EXPECT_EQ(import.layout, CsvLayout::tensorboard);
  EXPECT_EQ(import.separator, '\t');
  EXPECT_EQ(shown(import), "/loss: 0@1762852449.81=0.7012 313@1762852457.05=0.6051\n");
}

TEST(MetricsCsv, ATableOfRuns) {
  const auto import = import_text(fixture("csv/wandb-runs.csv"));
  ASSERT_EQ(import.runs.size(), 2u);
  EXPECT_EQ(import.runs[1].name, "spiral-4gpu");
  ASSERT_EQ(import.runs[1].series.size(), 3u);
  EXPECT_EQ(import.runs[1].series[2].key.name, "val_loss");
  EXPECT_EQ(import.runs[1].series[2].points[0].value, 0.1192);
  EXPECT_THAT(import.ignored_columns, testing::IsSupersetOf({"User", "Notes"}));
  EXPECT_EQ(import.runs[1].status, "finished");
  EXPECT_EQ(import.runs[1].created_ns, 1762853728LL * 1'000'000'000);
}

TEST(MetricsCsv, MlflowsTableOfRuns) {
  const auto import = import_text(
      "run_id,experiment_id,status,artifact_uri,start_time,end_time,metrics.loss,metrics.val_acc,params.lr,params."
      "optim,"
      "tags.mlflow.runName,tags.mlflow.user\n"
      "9f1c,0,FINISHED,s3://x,2025-11-11 09:14:02.000000+00:00,2025-11-11 09:15:02.000000+00:00,0.5,0.91,0.001,adam,"
      "bold-finch,ada\n"
      "77ab,0,FAILED,s3://y,2025-11-11 09:20:00.000000+00:00,,0.7,,0.01,sgd,bold-finch,ada\n");
  ASSERT_EQ(import.runs.size(), 2u) << "rows of one name are two runs";
  EXPECT_EQ(import.runs[0].name, "bold-finch");
  EXPECT_EQ(import.runs[0].settings,
            (std::map<std::string, std::string, std::less<>>{{"lr", "0.001"}, {"optim", "adam"}}));
  EXPECT_EQ(import.runs[0].series.at(0).key.name, "loss");
  EXPECT_EQ(import.runs[0].series.at(1).key.name, "val_accuracy");
  EXPECT_EQ(*import.runs[0].ended_ns - *import.runs[0].created_ns, 60LL * 1'000'000'000);
  EXPECT_EQ(import.runs[1].status, "FAILED");
  EXPECT_EQ(import.runs[1].series.size(), 1u);
}

TEST(MetricsCsv, SharesWrittenAsPercent) {
  const auto assumed = import_text("step,val_acc,loss\n1,0.5,12\n2,55.5,11\n");
  EXPECT_EQ(shown(assumed), "/val_accuracy: 1@0=0.005 2@0=0.555\n/loss: 1@0=12 2@0=11\n");
  EXPECT_THAT(kinds_of(assumed.flags), ElementsAre("percent_assumed"));
  const auto table = import_text("name,state,val_acc\na,finished,0.5\nb,finished,91\n");
  EXPECT_EQ(shown(table), "a/val_accuracy: -1@0=0.005\nb/val_accuracy: -1@0=0.91\n") << "one column, one unit";
  EXPECT_THAT(kinds_of(table.flags), ElementsAre("percent_assumed"));
  const auto said = import_text("step,val_acc (%)\n1,0.5\n2,55.5\n");
  EXPECT_EQ(shown(said), "/val_accuracy: 1@0=0.005 2@0=0.555\n");
  EXPECT_THAT(said.flags, IsEmpty());
  EXPECT_EQ(shown(import_text("step,val_acc\n1,50%\n2,55.5%\n")), "/val_accuracy: 1@0=0.5 2@0=0.555\n");
  EXPECT_EQ(shown(import_text("step,val_acc\n1,0.5\n2,1\n")), "/val_accuracy: 1@0=0.5 2@0=1\n");
  EXPECT_EQ(shown(import_text("step,val_acc\n1,0.5\n2,9550\n")), "/val_accuracy: 1@0=0.5 2@0=9550\n");
}

TEST(MetricsCsv, TensorboardsFileNameIsRunAndTag) {
  const auto named = [](const std::string& file) {
    return shown(import_text(fixture("csv/tensorboard-loss.csv"), file));
  };
  EXPECT_EQ(named("run-exp1_seed-3-tag-val_loss.csv"),
            "exp1_seed-3/val_loss: 0@1762852449.81=0.7012 313@1762852457.05=0.6051\n");
  EXPECT_EQ(named("run-.-tag-Loss_train.csv"), "/loss: 0@1762852449.81=0.7012 313@1762852457.05=0.6051\n");
  EXPECT_EQ(named("run-a-tag-reward.csv"), "a/reward: 0@1762852449.81=0.7012 313@1762852457.05=0.6051\n");
}

TEST(MetricsCsv, OurOwnTableOfSeveralRuns) {
  const std::vector<RunWithSeries> runs = {
      {.run = {.id = "aa"}, .series = {{.key = {"loss", {}}, .unit = "", .points = {{5, 1, 0.1}, {9, 2, 1.0 / 3}}}}},
      {.run = {.id = "bb"},
       .series = {{.key = {"host.cpu_util", {{"rank", "1"}}}, .unit = "ratio", .points = {{7, kNoStep, 0.5}}},
                  {.key = {"loss", {}}, .unit = "", .points = {{6, 1, 0.25}}}}}};
  const auto import = import_text(write_runs_csv(runs));
  EXPECT_EQ(import.layout, CsvLayout::assay);
  ASSERT_EQ(import.runs.size(), 2u);
  EXPECT_EQ(import.runs[0].name, "aa");
  ASSERT_EQ(import.runs[0].series.size(), 1u);
  EXPECT_EQ(shown({.runs = {import.runs[0]}}), "aa/loss: 1@5e-09=0.1 2@9e-09=0.3333333333333333\n");
  ASSERT_EQ(import.runs[1].series.size(), 2u);
  EXPECT_EQ(import.runs[1].series[1].key, runs[1].series[0].key);
  EXPECT_EQ(import.runs[1].series[1].unit, "ratio");
}

TEST(MetricsCsv, DecimalCommasWhereTheyAreUnambiguous) {
  const auto import = import_text(fixture("csv/decimal-comma.csv"));
  EXPECT_TRUE(import.decimal_comma);
  EXPECT_EQ(listed(import.flags), "");
  ASSERT_EQ(import.runs[0].series.size(), 4u);
  EXPECT_EQ(import.runs[0].series[2].key.name, "loss");
  EXPECT_EQ(import.runs[0].series[2].points[2].value, 0.5217);

  // 1,234 may be either.
  const auto either = import_text("step;loss;n\n1;1,234;5\n2;2,345;6\n");
  EXPECT_THAT(kinds_of(either.flags), testing::Contains("ambiguous_number"));
  EXPECT_EQ(shown(either), "/n: 1@0=5 2@0=6\n");
  // One cell that cannot be thousands decides for all.
  EXPECT_EQ(shown(import_text("step;loss\n1;1,234\n2;0,5\n")), "/loss: 1@0=1.234 2@0=0.5\n");
  EXPECT_EQ(shown(import_text("step,loss\n1,\"1,234,567\"\n2,\"1,234\"\n")), "/loss: 1@0=1234567 2@0=1234\n");
  // Points and decimal commas side by side.
  EXPECT_THAT(kinds_of(import_text("step;a;b\n1;0,5;0.5\n").flags), testing::Contains("ambiguous_number"));
}

TEST(MetricsCsv, OddCellsAreFlaggedWithTheirPlace) {
  const auto import = import_text("step,loss,note\n1,0.5,a\n2,oops,b\n3,0.25\n4,0.125,c,extra\n1.5,0.1,d\n,0.05,e\n");
  EXPECT_EQ(shown(import), "/loss: 1@0=0.5 3@0=0.25 4@0=0.125 -1@0=0.1 -1@0=0.05\n");
  EXPECT_TRUE(has_flag(import.flags, "not_a_number", "column 'loss': 1 cells are no numbers, first 'oops' in line 3"));
  EXPECT_TRUE(
      has_flag(import.flags, "ragged_rows", "2 rows have more or fewer cells than the header's 3, first line 4"));
  EXPECT_TRUE(has_flag(import.flags, "no_step", "'step' is no whole number in 1 rows, first line 6"));
  EXPECT_THAT(import.ignored_columns, ElementsAre("note"));
}

TEST(MetricsCsv, PercentMissingAndInfinite) {
  EXPECT_EQ(shown(import_text("step,val_acc,x\n1,95.3%,inf\n2,N/A,-Infinity\n3,null,nan\n")),
            "/val_accuracy: 1@0=0.953\n/x: 1@0=inf 2@0=-inf 3@0=nan\n");
}

TEST(MetricsCsv, TwoColumnsOfOneMeaningKeepTwoNames) {
  const auto import = import_text("step,loss,train_loss,loss\n1,0.5,0.6,0.7\n");
  EXPECT_EQ(shown(import), "/loss: 1@0=0.5\n/train_loss: 1@0=0.6\n/loss (2): 1@0=0.7\n");
  EXPECT_THAT(kinds_of(import.flags), ElementsAre("duplicate_column"));
}

TEST(MetricsCsv, TimesOfEveryKind) {
  EXPECT_EQ(shown(import_text("time,loss\n2025-11-11T09:14:09.810Z,1\n2025-11-11 09:14:10,2\n")),
            "/loss: -1@1762852449.81=1 -1@1762852450=2\n");
  const auto relative = import_text("_runtime,loss\n1.5,1\n2.5,2\n");
  EXPECT_TRUE(relative.relative_time);
  EXPECT_EQ(shown(relative), "/loss: -1@1.5=1 -1@2.5=2\n");
  EXPECT_TRUE(has_flag(import_text("timestamp,loss\nyesterday,1\n").flags, "no_time", "first line 2"));
  // Nanoseconds that a double cannot hold.
  EXPECT_EQ(import_text("step,time_ns,loss\n1,1762852449810000001,1\n").runs[0].series[0].points[0].time_ns,
            1762852449810000001);
}

TEST(MetricsCsv, FilesThatAreNone) {
  const auto error_of = [](std::string_view text) {
    const auto import = parse_metrics_csv(text, "x.csv");
    EXPECT_FALSE(import.ok());
    return import ? std::string() : import.error().text();
  };
  EXPECT_THAT(error_of(""), HasSubstr("'x.csv' is empty"));
  EXPECT_THAT(error_of("1,2\n3,4\n"), HasSubstr("has no header"));
  EXPECT_THAT(error_of("a,b\nx,y\n"), HasSubstr("has no column of numbers"));
  EXPECT_THAT(error_of(std::string_view("\xFF\xFEs\0t\0", 6)), HasSubstr("UTF-16"));
  EXPECT_THAT(kinds_of(import_text("step,loss\n").flags), ElementsAre("no_rows"));
}

TEST(MetricsCsv, ExcelsSeparatorLine) {
  EXPECT_EQ(shown(import_text("sep=|\nstep|loss\n1|0.5\n")), "/loss: 1@0=0.5\n");
  EXPECT_EQ(shown(import_text("step|loss\n1|0.5\n", "x.csv", {.separator = '|'})), "/loss: 1@0=0.5\n");
}

TEST(MetricsCsv, CutAtEveryByte) {
  for (const auto* name : {"wandb-chart.csv", "wandb-history.csv", "comet-metrics.csv", "decimal-comma.csv"}) {
    const std::string text = fixture(std::string("csv/") + name);
    for (std::size_t length = 0; length < text.size(); ++length) {
      const std::string_view part = std::string_view(text).substr(0, length);
      const auto import = parse_metrics_csv(part, name);
      ASSERT_TRUE(import.ok() || import.error().kind == ErrorKind::bad_file);
      const bool whole_rows = part.ends_with('\n') || part.ends_with('\r') || part.ends_with('"');
      ASSERT_TRUE(!import || !import->flags.empty() || whole_rows) << name << length;
    }
  }
  // A row that lost cells is not used, and that is said.
  const auto cut = import_text("step,loss,val_loss\n1,0.5,0.6\n2,0.4");
  EXPECT_EQ(shown(cut), "/loss: 1@0=0.5\n/val_loss: 1@0=0.6\n");
  EXPECT_TRUE(has_flag(cut.flags, "cut_file", "within line 3"));
  EXPECT_TRUE(has_flag(import_text("step,loss\n1,0.5\n2,\"0.").flags, "cut_file"));
  // One that may have lost digits is used, and that is said, too.
  EXPECT_TRUE(has_flag(import_text("step,loss\n1,0.5").flags, "no_line_end", "line 2"));
  EXPECT_THAT(import_text("step,loss\n1,\"0.5\"").flags, IsEmpty());
}

TEST(MetricsCsv, VeryLongRows) {
  std::string text = "step";
  for (int i = 0; i < 100'000; ++i) text += fmt::format(",m{}", i);
  text += "\n1";
  for (int i = 0; i < 100'000; ++i) text += ",0.5";
  text += "\n2," + std::string(1 << 20, 'x') + "\n";
  const auto import = import_text(text);
  EXPECT_EQ(import.runs[0].series.size(), 100'000u);
  EXPECT_TRUE(has_flag(import.flags, "ragged_rows"));
}

}  // namespace
}  // namespace assay
