#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "commands.h"
#include "import_view.h"
#include "importers/into_store/store_import.h"
#include "report/document.h"
#include "report/render.h"
#include "store/run_store.h"

namespace assay {
namespace {

constexpr std::size_t kLargestFile = std::size_t{2} << 30;
/// All files are in memory at once.
constexpr std::size_t kLargestImport = std::size_t{4} << 30;

struct ImportCommandOptions {
  std::vector<std::string> words;  ///< the format, if named, and the files
  std::string name;
  std::vector<std::string> tags;
  std::string price;
  bool dry_run = false;
  bool again = false;
};

struct FileText {
  std::string path;
  std::string text;
};

Error wrong_import(std::string message, std::string hint) {
  return Error{.kind = ErrorKind::usage, .message = std::move(message), .hint = std::move(hint)};
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const auto format : import_formats()) names.emplace_back(name_of(format));
  return names;
}

/// LoadGen's files in a folder. Folders are read for LoadGen only: its files are always called the same.
Result<std::vector<std::string>> loadgen_files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code code;
  for (const auto* name : {"mlperf_log_summary.txt", "mlperf_log_detail.txt", "mlperf_log_accuracy.json"}) {
    if (fs::exists(fs::path(folder) / name, code)) files.push_back((fs::path(folder) / name).string());
  }
  if (!files.empty()) return files;
  return Error{.kind = ErrorKind::missing_file,
               .message = fmt::format("no mlperf_log_summary.txt or mlperf_log_detail.txt in '{}'", folder)};
}

Result<std::vector<std::string>> expand_folders(const std::vector<std::string>& paths,
                                                std::optional<ImportFormat> format) {
  std::vector<std::string> files;
  std::set<fs::path> seen;
  for (const auto& path : paths) {
    std::error_code code;
    std::vector<std::string> found = {path};
    if (fs::is_directory(path, code)) {
      auto inside = loadgen_files_in(path);
      if (!inside && format == ImportFormat::loadgen) return std::move(inside).error();
      if (!inside || (format && format != ImportFormat::loadgen)) {
        return Error{.kind = ErrorKind::bad_file,
                     .message = fmt::format("'{}' is a folder", path),
                     .hint = fmt::format("Name the files in it: {}/*", path)};
      }
      found = std::move(inside).value();
    }
    for (auto& file : found) {
      if (seen.insert(fs::weakly_canonical(file, code)).second) files.push_back(std::move(file));
    }
  }
  return files;
}

Result<std::vector<FileText>> read_files(const std::vector<std::string>& paths) {
  std::vector<FileText> files;
  std::size_t total = 0;
  for (const auto& path : paths) {
    ASSAY_TRY(auto text, read_file(path, kLargestFile));
    total += text.size();
    if (total > kLargestImport) {
      return Error{.kind = ErrorKind::bad_file,
                   .message = fmt::format("the files have more than {} GiB in all", kLargestImport >> 30),
                   .hint = "Import fewer of them at a time."};
    }
    files.push_back({path, std::move(text)});
  }
  return files;
}

/// What the files look like, if all look alike.
Result<ImportFormat> guess_format(const std::vector<FileText>& files) {
  std::optional<ImportFormat> common;
  for (const auto& file : files) {
    const auto guess = guess_import_format(file.text, file.path);
    const std::string hint =
        fmt::format("Say what it is: assay import FORMAT {}, with one of {}", file.path, join(format_names(), ", "));
    if (!guess) {
      return Error{
          .kind = ErrorKind::bad_file, .message = fmt::format("cannot tell what '{}' is", file.path), .hint = hint};
    }
    if (common && *common != *guess) {
      return Error{.kind = ErrorKind::bad_file,
                   .message = fmt::format("'{}' looks like {} and '{}' like {}", files.front().path,
                                          description_of(*common), file.path, description_of(*guess)),
                   .hint = "Import them one after the other."};
    }
    common = guess;
  }
  return *common;
}

Result<ImportOptions> import_options(const ImportCommandOptions& options, std::optional<ImportFormat> format) {
  ImportOptions import{.name = options.name, .tags = options.tags};
  if (options.price.empty()) return import;
  if (format && format != ImportFormat::results) {
    return wrong_import("--price is for results of nodes",
                        "`assay import results` compares their cost figures with it.");
  }
  auto price = parse_price(options.price);
  if (!price)
    return wrong_import(fmt::format("--price '{}' {}", options.price, price.error().message),
                        "For example: --price '0.60 USD/GPUh'");
  import.price = *price;
  return import;
}

/// The first word is a format or a file; a mistyped format would be reported as a missing file.
Result<void> check_first_word(const std::string& word) {
  std::error_code code;
  if (fs::exists(word, code)) return {};
  std::string message = fmt::format("'{}' is neither a format nor a file.", word);
  if (const auto meant = nearest(word, format_names())) message += fmt::format(" Did you mean '{}'?", *meant);
  return wrong_import(std::move(message), fmt::format("The formats are {}.", join(format_names(), ", ")));
}

class ImportCommand {
 public:
  ImportCommand(Context& context, const ImportCommandOptions& options) : context_(context), options_(options) {}

  int run() {
    auto imported = read();
    if (!imported) return context_.fail(imported.error());
    if (options_.dry_run) return answer(*imported, ImportOutcome::only_shown);
    auto store = context_.open_store();
    if (!store) return context_.fail(store.error());
    if (!options_.again) {
      auto known = find_import(**store, imported->study.spec_hash);
      if (!known) return context_.fail(known.error());
      if (*known) return answer(**known, ImportOutcome::already_there);
    }
    if (auto stored = store_import(**store, *imported); !stored) return context_.fail(stored.error());
    return answer(*imported, ImportOutcome::stored);
  }

 private:
  Result<ImportedStudy> read() const {
    std::vector<std::string> paths = options_.words;
    std::optional<ImportFormat> format = import_format_from(paths.front());
    if (format) paths.erase(paths.begin());
    if (!format) ASSAY_CHECK(check_first_word(paths.front()));
    if (paths.empty()) {
      return wrong_import("name the files to import",
                          fmt::format("For example: assay import {} FILE", name_of(*format)));
    }
    ASSAY_TRY(const auto import, import_options(options_, format));
    ASSAY_TRY(const auto expanded, expand_folders(paths, format));
    ASSAY_TRY(const auto files, read_files(expanded));
    if (!format) {
      ASSAY_TRY(format, guess_format(files));
    }
    std::vector<NamedText> named;
    named.reserve(files.size());
    for (const auto& file : files) named.push_back({file.path, file.text});
    return import_files(*format, named, import);
  }

  int answer(const ImportedStudy& imported, ImportOutcome outcome) const {
    const auto flags = all_flags(imported);
    const int code = flags.empty() ? 0 : 4;
    Document report = report_on_import(imported);
    if (!context_.json) {
      if (!context_.quiet) print_import(context_, imported, std::move(report), outcome);
      return code;
    }
    json::array runs;
    for (const auto& one : imported.runs) runs.push_back(to_json(one.run));
    json::array listed;
    for (const auto& flag : flags) listed.push_back(to_json(flag));
    json::object result{{"study", imported.study.id.empty() ? json::value(nullptr) : json::value(imported.study.id)},
                        {"name", imported.study.name}};
    result["runs"] = std::move(runs);
    result["flags"] = std::move(listed);
    result["stored"] = outcome == ImportOutcome::stored;
    result["report"] = render_json(report);
    return context_.answer(code, std::move(result), nullptr);
  }

  Context& context_;
  const ImportCommandOptions& options_;
};

}  // namespace

Action add_import(CLI::App& app, Context& context) {
  auto options = std::make_shared<ImportCommandOptions>();
  auto* command = app.add_subcommand("import", "Import results of other programs, or exported runs")->group("Manage");
  command
      ->add_option("FILE", options->words,
                   "Files; the first word may name their format, slurm, results, csv, loadgen or run, else their "
                   "content decides")
      ->required();
  command->add_option("--name", options->name, "Name of the study [the folder's or the run's]");
  command->add_option("--tag", options->tags, "Tag: key=value or a word; may be repeated")->allow_extra_args(false);
  command->add_option("--price", options->price, "Price to check stated costs with, where the results have none")
      ->type_name("PRICE");
  command->add_flag("--dry-run", options->dry_run, "Show what would be imported, store nothing");
  command->add_flag("--again", options->again, "Store it although the same files were imported before");
  command->footer(R"(
Formats:
  slurm     output of training jobs: slurm-48211.out
  results   JSON results of nodes, ranks and suites: node1_final.json
  csv       metrics of Weights & Biases, Comet, MLflow, TensorBoard, or `assay export --format csv`
  loadgen   MLPerf LoadGen's mlperf_log_summary.txt and mlperf_log_detail.txt, or the folder they are in
  run       `assay export`
Exit codes: 0 nothing to remark, 4 flags say what to know before the figures are used, 2 cannot be read.
Examples:
  assay import slurm outputs/slurm-*.out
  assay import results results/final/node*_final.json --price '0.60 USD/GPUh'
  assay import loadgen results/server results/offline --dry-run)");
  return [&context, options] { return ImportCommand(context, *options).run(); };
}

}  // namespace assay
