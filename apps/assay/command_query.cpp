#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "commands.h"
#include "http/series_answer.h"
#include "importers/csv.h"
#include "leader_place.h"
#include "net/url.h"
#include "report/sparkline.h"
#include "report/table.h"
#include "store/series/series_question.h"
#include "store/series/series_store.h"

namespace assay {
namespace {

struct QueryOptions {
  std::vector<std::string> question;
  bool csv = false;
  LeaderClient::Options leader;
};

/// The leader's answer, or that of the store itself where no leader runs.
Result<SeriesAnswer> ask(const Context& context, const QueryOptions& options, const std::string& question) {
  // Mistakes are better said here than by the leader.
  ASSAY_TRY(const auto query, parse_series_question(question, context.clock.wall()));
  const LeaderPlace place(context.data_folder());
  if (!context.leader_option.empty() || read_endpoint(place).ok()) {
    ASSAY_TRY(auto client, LeaderClient::connect(context, options.leader));
    auto text = client.get_text("/api/v1/query?q=" + percent_encode(question));
    if (text) return parse_answer_json(*text);
    // One that was killed has left its address behind.
    if (text.error().kind != ErrorKind::unreachable || !context.leader_option.empty()) return text.error();
  }
  std::error_code code;
  if (!fs::exists(place.folder / "series", code)) {
    return Error{.kind = ErrorKind::not_found,
                 .message = fmt::format("there is no telemetry in '{}'", context.data_folder().string()),
                 .hint = "`assay serve` and an agent collect some; --leader URL asks another leader."};
  }
  ASSAY_TRY(const auto store, SeriesStore::open(place.folder / "series"));
  return store.query(query);
}

std::string csv_field(std::string_view text) {
  std::string cell;
  append_csv_cell(cell, text);
  return cell;
}

std::string csv_number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

void print_csv(const SeriesAnswer& answer) {
  std::set<std::string> labels;
  for (const auto& row : answer.rows) {
    for (const auto& [label, value] : row.series.key.labels) labels.insert(label);
  }
  std::string text = "time,metric";
  for (const auto& label : labels) text += "," + csv_field(label);
  text += ",unit,min,max,mean,count\n";
  for (const auto& row : answer.rows) {
    std::string middle = "," + csv_field(row.series.key.name);
    for (const auto& label : labels) {
      const auto found = row.series.key.labels.find(label);
      middle += "," + csv_field(found == row.series.key.labels.end() ? "" : found->second);
    }
    middle += "," + csv_field(row.series.unit);
    for (const auto& bucket : row.buckets) {
      text += fmt::format("{}{},{},{},{},{}\n", iso8601(WallTime(Nanos(bucket.start_ns))), middle,
                          csv_number(bucket.min), csv_number(bucket.max), csv_number(bucket.mean()), bucket.count);
    }
    // Long answers go out piece by piece.
    if (text.size() > (std::size_t{1} << 20)) {
      print(text);
      text.clear();
    }
  }
  print(text);
}

/// The labels that tell the rows apart; what all have in common is said once.
std::string labels_of(const SeriesKey& key, const std::map<std::string, std::string>& common) {
  std::string text;
  for (const auto& [label, value] : key.labels) {
    if (common.contains(label)) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", label, value);
  }
  return text;
}

std::map<std::string, std::string> common_labels(const SeriesAnswer& answer) {
  std::map<std::string, std::string> common = answer.rows.front().series.key.labels;
  for (const auto& row : answer.rows) {
    std::erase_if(common, [&](const auto& label) {
      const auto found = row.series.key.labels.find(label.first);
      return found == row.series.key.labels.end() || found->second != label.second;
    });
  }
  return common;
}

void print_table(const Context& context, const SeriesAnswer& answer) {
  const TerminalStyle style = context.out_style();
  if (answer.rows.empty()) {
    print("No series matches, or none has a value in that time.\n");
    return;
  }
  const auto common = answer.rows.size() > 1 ? common_labels(answer) : std::map<std::string, std::string>();
  Table table({{"Metric"},
               {"Of", Align::left, true},
               {"Course"},
               {"Lowest", Align::right},
               {"Mean", Align::right},
               {"Highest", Align::right},
               {"Values", Align::right}});
  for (const auto& row : answer.rows) {
    SeriesBucket whole;
    double sum = 0;
    std::vector<double> means;
    for (const auto& bucket : row.buckets) {
      means.push_back(bucket.mean());
      if (bucket.count == 0) continue;
      whole.min = std::fmin(whole.min, bucket.min);
      whole.max = std::fmax(whole.max, bucket.max);
      sum += bucket.sum;
      whole.count += bucket.count;
    }
    const double mean = whole.count > 0 ? sum / static_cast<double>(whole.count) : std::nan("");
    const auto value = [&](double number) { return format_value(number, row.series.unit); };
    table.add({Cell(row.series.key.name, Colour::bold), Cell(printable(labels_of(row.series.key, common)), Colour::dim),
               sparkline(means, 24, style), value(whole.min), value(mean), value(whole.max),
               format_count(static_cast<double>(whole.count))});
  }
  print(table.render(style, 0));
  std::string shared;
  for (const auto& [label, value] : common) shared += fmt::format("{}={} · ", label, printable(value));
  static constexpr std::array<const char*, 3> kTiers = {"every value", "minutes", "hours"};
  print(style.paint(
      Colour::dim,
      fmt::format("{}{} to {} · buckets of {} made from {}\n", shared,
                  local_time(WallTime(Nanos(answer.range.from_ns))), local_time(WallTime(Nanos(answer.range.to_ns))),
                  format_duration(Nanos(answer.width_ns)), kTiers[static_cast<std::size_t>(answer.tier)])));
}

int run_query(const Context& context, const QueryOptions& options) {
  const auto answer = ask(context, options, join(options.question, " "));
  if (!answer) return context.fail(answer.error());
  if (context.json) {
    auto value = parse_json(answer_json(*answer));
    if (!value) return context.fail(value.error());
    return context.succeed(std::move(value->as_object()));
  }
  for (const auto& problem : answer->problems) print_error(fmt::format("assay: damaged: {}\n", problem));
  options.csv ? print_csv(*answer) : print_table(context, *answer);
  return answer->problems.empty() ? 0 : 4;
}

}  // namespace

Action add_query(CLI::App& app, Context& context) {
  auto options = std::make_shared<QueryOptions>();
  auto* command =
      app.add_subcommand("query", "Ask for telemetry: assay query 'gpu.util node=gpu03 last=1h'")->group("Cluster");
  command->add_option("QUESTION", options->question, "METRIC LABEL=VALUE … and a time")->required();
  command->add_flag("--csv", options->csv, "Print every bucket as CSV");
  add_leader_options(*command, options->leader);
  command->footer(R"(
  METRIC            docs/reference/metrics.md; without one, every metric
  LABEL=VALUE       node=gpu03, gpu=GPU-8f3*, device!=sda, mount=*
  last=1h           or from=2026-11-15T08:00:00Z to=…
  width=1min        of a bucket, or points=500 (at most so many)
Examples:
  assay query 'gpu.power_w last=10min'
  assay query 'gpu.temperature_c node=gpu03 last=30d width=1h' --csv > temperatures.csv)");
  return [&context, options] { return run_query(context, *options); };
}

}  // namespace assay
