#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <thread>

#include "base/text.h"
#include "base/units.h"
#include "commands.h"
#include "model/run.h"
#include "model/run_state.h"
#include "report/text/table.h"
#include "run_view.h"
#include "stop_signals.h"
#include "store/journal/journal.h"
#include "store/read_journals.h"
#include "store/resolve.h"
#include "store/run_store.h"

namespace assay {
namespace {

struct ShowOptions {
  std::string run;
  std::string series;
  bool events = false;
};

/// Collects the points of the series of one name.
class PointCollector final : public JournalVisitor {
 public:
  explicit PointCollector(std::string name) : name_(std::move(name)) {}
  void on_points(const SeriesKey& key, std::string_view unit, std::span<const SeriesPoint> points) override {
    if (key.name != name_) return;
    unit_ = unit;
    auto& collected = points_[key];
    collected.insert(collected.end(), points.begin(), points.end());
  }
  const std::map<SeriesKey, std::vector<SeriesPoint>>& points() const { return points_; }
  const std::string& unit() const { return unit_; }

 private:
  std::string name_;
  std::string unit_;
  std::map<SeriesKey, std::vector<SeriesPoint>> points_;
};

class EventPrinter final : public JournalVisitor {
 public:
  void on_event(WallTime time, std::string_view event) override {
    text_ += fmt::format("{}  {}\n", iso8601(time), printable(event));
  }
  void on_damage(std::string_view what) override { text_ += fmt::format("-- damaged here: {}\n", what); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

int show_series(const Context& context, const Run& run, const std::string& name, RunStore& store) {
  PointCollector collector(name);
  if (auto read = read_journal(store, run.id, collector); !read) return context.fail(read.error());
  if (collector.points().empty()) {
    std::vector<std::string> names;
    names.reserve(run.series.size());
    for (const auto& series : run.series) names.push_back(series.name);
    const auto meant = nearest(name, names);
    return context.fail({.kind = ErrorKind::not_found,
                         .message = fmt::format("run {} has no series '{}'.{}", run.id, name,
                                                meant ? fmt::format(" Did you mean '{}'?", *meant) : ""),
                         .hint = names.empty() ? "It has none at all." : fmt::format("It has: {}", join(names, ", "))});
  }
  const auto start = run.started.time_since_epoch().count();
  json::array list;
  Table table({{"Step", Align::right}, {"Time", Align::right}, {name, Align::right}, {"Labels"}});
  for (const auto& [key, points] : collector.points()) {
    std::string labels;
    for (const auto& [label, value] : key.labels) labels += fmt::format("{}={} ", label, value);
    json::array rows;
    for (const auto& point : points) {
      const double seconds = static_cast<double>(point.time_ns - start) / 1e9;
      const std::string step = point.step == kNoStep ? "-" : std::to_string(point.step);
      if (context.json) {
        rows.push_back({{"step", point.step == kNoStep ? json::value(nullptr) : json::value(point.step)},
                        {"seconds", seconds},
                        {"value", finite(point.value)}});
      } else {
        table.add({step, fmt::format("{:.3f} s", seconds), format_value(point.value, collector.unit()), labels});
      }
    }
    if (context.json)
      list.push_back({{"name", key.name},
                      {"labels", json::value_from(key.labels)},
                      {"unit", collector.unit()},
                      {"points", std::move(rows)}});
  }
  if (!context.json) print(table.render(context.out_style(), 0));
  return context.succeed({{"run", run.id}, {"series", std::move(list)}});
}

int show(const Context& context, const ShowOptions& options) {
  auto store = context.open_store();
  if (!store) return context.fail(store.error());
  auto id = resolve_run(**store, options.run);
  if (!id) return context.fail(id.error());
  auto run = (*store)->find_run(*id);
  if (!run) return context.fail(run.error());
  if (!options.series.empty()) return show_series(context, *run, options.series, **store);
  if (options.events) {
    EventPrinter printer;
    if (auto read = read_journal(**store, *id, printer); !read) return context.fail(read.error());
    print(printer.text());
    return 0;
  }
  if (!context.json) print(describe_run(*run, **store, context.folder_of_runs(), context.out_style()));
  json::object result = to_json(*run);
  if (is_without_owner(**store, *run).value_or(false)) result["without_owner"] = true;
  return context.succeed(std::move(result));
}

struct LogOptions {
  std::string run;
  bool follow = false;
  bool errors_only = false;
  bool times = false;
};

/// Prints output as it was recorded, made safe for a terminal.
class LogPrinter final : public JournalVisitor {
 public:
  explicit LogPrinter(const LogOptions& options) : options_(options) {}

  void on_output(OutputStream stream, WallTime time, std::string_view bytes) override {
    if (options_.errors_only && stream != OutputStream::error) return;
    // Whole lines come with their ends; carriage returns of progress bars become lines of their own.
    std::string text(bytes);
    std::replace(text.begin(), text.end(), '\r', '\n');
    if (!options_.times) {
      print(printable(text));
      return;
    }
    const std::string stamp = iso8601(time);
    for (const auto part :
         split(std::string_view(text).substr(0, text.size() - (text.ends_with('\n') ? 1 : 0)), '\n')) {
      print(fmt::format("{}  {}\n", stamp, printable(part)));
    }
  }
  void on_damage(std::string_view what) override { print_error(fmt::format("-- damaged here: {}\n", what)); }

 private:
  const LogOptions& options_;
};

int logs(const Context& context, const LogOptions& options) {
  constexpr auto kPause = std::chrono::milliseconds(200);
  auto store = context.open_store();
  if (!store) return context.fail(store.error());
  auto id = resolve_run(**store, options.run);
  if (!id) return context.fail(id.error());
  LogPrinter printer(options);
  StopSignals signals;
  JournalPosition position;
  for (;;) {
    // The state is asked for first: what was written before the end is then read in any case.
    auto run = (*store)->find_run(*id);
    if (!run) return context.fail(run.error());
    auto next = read_journal(**store, *id, printer, position);
    if (!next) return context.fail(next.error());
    position = *next;
    if (!options.follow || run->state == RunState::ended || signals.requested()) return 0;
    std::this_thread::sleep_for(kPause);
  }
}

constexpr const char* kRunHelp = "Run: an id, the beginning of one, a name, @last, @last-1";

}  // namespace

Action add_show(CLI::App& app, Context& context) {
  auto options = std::make_shared<ShowOptions>();
  auto* command = app.add_subcommand("show", "Show one run: verdict, metrics, machine")->group("Look");
  command->add_option("RUN", options->run, kRunHelp)->required();
  command->add_option("--series", options->series, "Print every point of this series")->type_name("NAME");
  command->add_flag("--events", options->events, "Print the recorded events");
  command->footer(R"(
Examples:
  assay show @last
  assay show k7m2 --series loss
  assay show @last --json)");
  return [&context, options] { return show(context, *options); };
}

Action add_logs(CLI::App& app, Context& context) {
  auto options = std::make_shared<LogOptions>();
  auto* command = app.add_subcommand("logs", "Print what a run's workload printed")->group("Look");
  command->add_option("RUN", options->run, kRunHelp)->required();
  command->add_flag("-f,--follow", options->follow, "Go on until the run has ended");
  command->add_flag("--errors", options->errors_only, "Standard error only");
  command->add_flag("-t,--times", options->times, "Put the time in front of each line");
  return [&context, options] { return logs(context, *options); };
}

}  // namespace assay
