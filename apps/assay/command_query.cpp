#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "api/telemetry_types.h"
#include "base/text.h"
#include "base/units.h"
#include "client/ask.h"
#include "cluster_view.h"
#include "commands.h"
#include "exchange/csv_cell.h"
#include "http/series_answer.h"
#include "leader_place.h"
#include "model/metric.h"
#include "net/client_messages.h"
#include "net/url_text.h"
#include "report/text/sparkline.h"
#include "report/text/table.h"
#include "store/bucket_answer.h"
#include "store/series/embedded_series_store.h"
#include "store/series_question.h"

namespace assay {
namespace {

struct QueryOptions {
  std::vector<std::string> question;
  bool csv = false;
};

/// Where telemetry is asked for: at the leader, or in its folder where none runs.
class Telemetry {
 public:
  static Result<Telemetry> open(const Context& context) {
    Telemetry telemetry;
    const LeaderPlace place(context.data_folder());
    if (!context.leader.url.empty() || read_endpoint(place).ok()) {
      ASSAY_TRY(auto client, connect_to_leader(context));
      auto nodes = all_nodes(*client);
      if (nodes) {
        telemetry.nodes_ = std::move(*nodes);
        telemetry.client_ = std::move(client);
        return telemetry;
      }
      // One that was killed has left its address behind.
      if (nodes.error().kind != ErrorKind::unreachable || !context.leader.url.empty()) return nodes.error();
    }
    const fs::path folder = place.series();
    std::error_code code;
    if (!fs::exists(folder, code)) {
      return Error{.kind = ErrorKind::not_found,
                   .message = fmt::format("there is no telemetry in '{}'", context.data_folder().string()),
                   .hint = "`assay serve` and an agent collect some; --leader URL asks another leader."};
    }
    ASSAY_TRY(telemetry.store_, open_series_store(folder));
    return telemetry;
  }

  Result<SeriesAnswer> answer(const std::string& question, const SeriesQuery& query) {
    if (store_) return store_->query(query);
    ASSAY_TRY(const auto answer, client_->send({.target = "/api/v1/query?q=" + percent_encode(question)}));
    return parse_answer_json(answer.body);
  }

  /// The labels of every series of a metric.
  Result<std::vector<std::map<std::string, std::string>>> labels_of(const std::string& metric) {
    std::vector<std::map<std::string, std::string>> labels;
    if (store_) {
      ASSAY_TRY(const auto found, store_->list({.name = metric}));
      for (const auto& series : found) labels.push_back(series.key.labels);
      return labels;
    }
    for (std::string after;;) {
      ASSAY_TRY(auto found, ask<SeriesList>(*client_, fmt::format("/api/v1/series?q={}&after={}",
                                                                  percent_encode(metric), percent_encode(after))));
      for (auto& series : found.series) labels.push_back(std::move(series.labels));
      if (found.next.empty()) return labels;
      after = std::move(found.next);
    }
  }

  /// The number of each GPU on its node, by UUID. Empty where only the store can be asked: it knows no inventory.
  struct Gpu {
    std::string node;
    std::string index;
  };
  std::map<std::string, Gpu> gpus() const {
    std::map<std::string, Gpu> gpus;
    if (!client_) return gpus;
    for (const auto& node : nodes_.nodes) {
      const NodeLine line = line_of(node);
      for (const auto& gpu : line.gpus) gpus[gpu.uuid] = {.node = line.name, .index = gpu.index};
    }
    return gpus;
  }

 private:
  std::unique_ptr<Connection> client_;
  NodeList nodes_;
  std::unique_ptr<SeriesStore> store_;
};

Error mistake(std::string message, std::string_view typed, const std::vector<std::string>& known) {
  if (const auto meant = nearest(typed, known)) message += fmt::format(" Did you mean '{}'?", *meant);
  return {.kind = ErrorKind::usage, .message = std::move(message)};
}

/// Nothing was found: a typing mistake must not look like a cluster where all is well.
Result<void> check_question(Telemetry& telemetry, const SeriesSelector& asked) {
  ASSAY_TRY(const auto series, telemetry.labels_of(asked.name));
  if (series.empty()) {
    if (find_metric(asked.name) != nullptr) {
      return Error{.kind = ErrorKind::not_found,
                   .message = fmt::format("there is no data of '{}' yet", asked.name),
                   .hint =
                       "An agent sends it from the day on which it runs a version that knows it, on a machine that "
                       "has it: 'assay nodes show NODE' tells the version."};
    }
    std::vector<std::string> known;
    for (const auto& metric : known_metrics()) known.emplace_back(metric.name);
    return mistake(fmt::format("there is no series of a metric '{}'.", printable(asked.name)), asked.name, known);
  }
  for (const auto& match : asked.labels) {
    std::set<std::string> names;
    std::set<std::string> values;
    bool any = false;
    for (const auto& labels : series) {
      for (const auto& [label, value] : labels) {
        names.insert(label);
        if (label == match.label) values.insert(value);
      }
      const auto found = labels.find(match.label);
      any = any || match.fits(found == labels.end() ? std::nullopt : std::optional<std::string_view>(found->second));
    }
    const std::string metric = asked.name.empty() ? "series" : asked.name;
    if (!names.contains(match.label)) {
      const std::vector<std::string> known(names.begin(), names.end());
      return mistake(fmt::format("{} has no label '{}'; it has {}.", metric, printable(match.label), join(known, ", ")),
                     match.label, known);
    }
    if (!any) {
      return mistake(fmt::format("no {} fits {}={}.", metric, match.label, printable(match.value)), match.value,
                     {values.begin(), values.end()});
    }
  }
  return {};
}

/// People know a GPU by its number on its node, the store by its UUID: `gpu=3 node=gpu07` is put in its words.
Result<std::string> with_uuid(const Telemetry& telemetry, std::string question, const SeriesSelector& asked) {
  const auto find = [&](std::string_view label) {
    return std::find_if(asked.labels.begin(), asked.labels.end(), [&](const LabelMatch& match) {
      return match.label == label && match.test == LabelMatch::Test::equals;
    });
  };
  const auto gpu = find("gpu");
  const bool is_number = gpu != asked.labels.end() && !gpu->value.empty() && gpu->value.size() <= 3 &&
                         gpu->value.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) return question;
  const auto node = find("node");
  if (node == asked.labels.end()) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("gpu={} is a number on a node: which?", gpu->value),
                 .hint = "Add node=NAME, or give the GPU's UUID."};
  }
  for (const auto& [uuid, place] : telemetry.gpus()) {
    if (place.node != node->value || place.index != gpu->value) continue;
    const std::string word = " gpu=" + gpu->value;
    const auto at = (" " + question).find(word);
    if (at != std::string::npos) return question.replace(at, word.size() - 1, "gpu=" + uuid);
  }
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("{} has no GPU {}", printable(node->value), gpu->value),
               .hint = "`assay nodes show NODE` lists its GPUs; a number is written as gpu=3, without quotes."};
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

/// The labels that tell the rows apart; what all have in common is said once. A GPU by its number first: the end of a
/// UUID is the first thing that a narrow terminal cuts off.
std::string labels_text(const SeriesKey& key, const std::map<std::string, std::string>& common,
                        const std::map<std::string, Telemetry::Gpu>& gpus) {
  std::string text;
  const auto node = key.labels.find("node");
  if (node != key.labels.end() && !common.contains("node")) text += node->second;
  for (const auto& [label, value] : key.labels) {
    if (common.contains(label) || label == "node") continue;
    if (!text.empty()) text += ' ';
    const auto gpu = label == "gpu" ? gpus.find(value) : gpus.end();
    text += gpu == gpus.end() ? fmt::format("{}={}", label, value) : fmt::format("GPU {} {}", gpu->second.index, value);
  }
  return text;
}

/// By metric, then by node and the number of the GPU there.
void sort_rows(SeriesAnswer& answer, const std::map<std::string, Telemetry::Gpu>& gpus) {
  const auto key_of = [&](const auto& row) {
    const auto& labels = row.series.key.labels;
    const auto text = [&](const char* label) {
      const auto found = labels.find(label);
      return found == labels.end() ? std::string() : found->second;
    };
    const auto gpu = gpus.find(text("gpu"));
    const int index = gpu == gpus.end() ? 0 : std::atoi(gpu->second.index.c_str());
    return std::make_tuple(row.series.key.name, text("node"), index, labels);
  };
  std::sort(answer.rows.begin(), answer.rows.end(),
            [&](const auto& a, const auto& b) { return key_of(a) < key_of(b); });
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

void print_table(const Context& context, SeriesAnswer& answer, const std::map<std::string, Telemetry::Gpu>& gpus) {
  const TerminalStyle style = context.out_style();
  if (answer.rows.empty()) {
    print("There are such series, but none has a value in that time.\n");
    return;
  }
  sort_rows(answer, gpus);
  const auto common = answer.rows.size() > 1 ? common_labels(answer) : std::map<std::string, std::string>();
  Table table({{"Metric"},
               {"Of", Align::left, true},
               {"Course", Align::left, false, 2},
               {"Lowest", Align::right},
               {"Mean", Align::right},
               {"Highest", Align::right},
               {"Values", Align::right, false, 1}});
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
    table.add({Cell(row.series.key.name, Colour::bold),
               Cell(printable(labels_text(row.series.key, common, gpus)), Colour::dim), sparkline(means, 24, style),
               value(whole.min), value(mean), value(whole.max), format_count(static_cast<double>(whole.count))});
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
  if (options.csv && context.json) {
    return context.fail({.kind = ErrorKind::usage, .message = "--csv and --json do not go together"});
  }
  std::string question = join(options.question, " ");
  // Mistakes are better said here than by the leader.
  auto query = parse_series_question(question, context.clock.wall());
  if (!query) return context.fail(query.error());
  auto telemetry = Telemetry::open(context);
  if (!telemetry) return context.fail(telemetry.error());
  auto in_its_words = with_uuid(*telemetry, std::move(question), query->selector);
  if (!in_its_words) return context.fail(in_its_words.error());
  query = parse_series_question(*in_its_words, context.clock.wall());
  if (!query) return context.fail(query.error());
  auto answer = telemetry->answer(*in_its_words, *query);
  if (!answer) return context.fail(answer.error());
  if (answer->rows.empty()) {
    if (const auto checked = check_question(*telemetry, query->selector); !checked)
      return context.fail(checked.error());
  }
  if (context.json) {
    auto value = parse_json(answer_json(*answer));
    if (!value) return context.fail(value.error());
    return context.succeed(std::move(value->as_object()));
  }
  for (const auto& problem : answer->problems) print_error(fmt::format("assay: damaged: {}\n", problem));
  if (options.csv) {
    print_csv(*answer);
  } else {
    print_table(context, *answer, telemetry->gpus());
  }
  return answer->problems.empty() ? 0 : 4;
}

}  // namespace

Action add_query(CLI::App& app, Context& context) {
  auto options = std::make_shared<QueryOptions>();
  auto* command =
      app.add_subcommand("query", "Ask for telemetry: assay query 'gpu.util node=gpu03 last=1h'")->group("Cluster");
  command->add_option("QUESTION", options->question, "METRIC LABEL=VALUE … and a time")->required();
  command->add_flag("--csv", options->csv, "Print every bucket as CSV");
  command->footer(R"(
  METRIC            docs/reference/metrics.md; without one, every metric
  LABEL=VALUE       node=gpu03, gpu=3 (a number on that node), gpu=GPU-8f3*, device!=sda, mount=*
  last=1h           or from=2026-11-15T08:00:00Z to=…
  width=1min        of a bucket, or points=500 (at most so many)
Examples:
  assay query 'gpu.power_w last=10min'
  assay query 'gpu.temperature_c node=gpu03 last=30d width=1h' --csv > temperatures.csv)");
  return [&context, options] { return run_query(context, *options); };
}

}  // namespace assay
