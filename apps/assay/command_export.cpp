#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/files.h"
#include "commands.h"
#include "exchange/run_series.h"
#include "report_output.h"
#include "store/journal/journal.h"
#include "store/read_journals.h"
#include "store/resolve.h"
#include "store/run_store.h"

namespace assay {
namespace {

struct ExportOptions {
  std::vector<std::string> runs;
  std::string format;
  std::string file = "-";
};

/// Collects every series of a run, in the order in which they were opened.
class SeriesCollector final : public JournalVisitor {
 public:
  void on_points(const SeriesKey& key, std::string_view unit, std::span<const SeriesPoint> points) override {
    const auto [place, added] = places_.try_emplace(key, series_.size());
    if (added) series_.push_back({.key = key, .unit = std::string(unit)});
    auto& collected = series_[place->second].points;
    collected.insert(collected.end(), points.begin(), points.end());
  }
  void on_damage(std::string_view what) override { damage_ = what; }

  std::vector<SeriesWithPoints> take() { return std::move(series_); }
  const std::string& damage() const { return damage_; }

 private:
  std::map<SeriesKey, std::size_t> places_;
  std::vector<SeriesWithPoints> series_;
  std::string damage_;
};

class ExportCommand {
 public:
  ExportCommand(Context& context, const ExportOptions& options) : context_(context), options_(options) {}

  int run() {
    auto text = make();
    if (!text) return context_.fail(text.error());
    if (auto written = write(*text); !written) return context_.fail(written.error());
    for (const auto& note : notes_) print_error(fmt::format("assay: {}\n", note));
    // What could not be read is missing from the file.
    const int code = notes_.empty() ? 0 : 4;
    json::array ids;
    for (const auto& one : runs_) ids.emplace_back(one.run.id);
    json::object result{{"runs", std::move(ids)}, {"format", format_}, {"bytes", text->size()}};
    if (options_.file == "-") {
      result["content"] = *text;
    } else {
      result["file"] = options_.file;
    }
    return context_.answer(code, std::move(result), nullptr);
  }

 private:
  Result<std::string> make() {
    format_ = options_.format;
    if (format_.empty()) format_ = fs::path(options_.file).extension() == ".csv" ? "csv" : "json";
    ASSAY_TRY(const auto store, context_.open_store());
    std::vector<std::string> ids;
    for (const auto& reference : options_.runs) {
      ASSAY_TRY(const auto found, resolve_runs(*store, reference));
      for (const auto& id : found) {
        if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
      }
    }
    for (const auto& id : ids) ASSAY_CHECK(collect(*store, id));
    return format_ == "csv" ? write_runs_csv(runs_) : write_runs_json(runs_);
  }

  Result<void> collect(RunStore& store, const std::string& id) {
    ASSAY_TRY(auto run, store.find_run(id));
    SeriesCollector collector;
    ASSAY_CHECK([&]() -> Result<void> {
      ASSAY_TRY(const auto position, read_journal(store, id, collector));
      static_cast<void>(position);
      return {};
    }());
    if (!collector.damage().empty())
      notes_.push_back(fmt::format("part of the series of run {} could not be read: {}", id, collector.damage()));
    runs_.push_back({std::move(run), collector.take()});
    return {};
  }

  Result<void> write(const std::string& text) const {
    if (options_.file != "-") return write_named_file(options_.file, text);
    if (!context_.json) print(text);
    return {};
  }

  Context& context_;
  const ExportOptions& options_;
  std::string format_;
  std::vector<RunWithSeries> runs_;
  std::vector<std::string> notes_;
};

}  // namespace

Action add_export(CLI::App& app, Context& context) {
  auto options = std::make_shared<ExportOptions>();
  auto* command = app.add_subcommand("export", "Write runs to a file that can be imported elsewhere")->group("Manage");
  command
      ->add_option("RUN", options->runs,
                   "Runs: ids, beginnings of them, names, @last, @last-1, tag:T and study:S (every run with that tag, "
                   "of that study)")
      ->required();
  command
      ->add_option(
          "--format", options->format,
          "json: everything but output and events; csv: the series, with a column for the run if there are several")
      ->check(CLI::IsMember({"json", "csv"}))
      ->type_name("FORMAT");
  command->add_option("-o,--output", options->file, "File to write; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  command->footer(R"(
`assay import run FILE` reads it back, as a new run with the same figures, verdict and provenance.
Examples:
  assay export @last -o run.json
  assay export @last --format csv | head
  assay export tag:paper -o paper.json
  assay export study:lr-sweep -o curves.csv)");
  return [&context, options] { return ExportCommand(context, *options).run(); };
}

}  // namespace assay
