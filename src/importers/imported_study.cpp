#include "importers/imported_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "redact/redact.h"

namespace assay {
namespace {

Error too_many(std::size_t runs) {
  return Error{
      .kind = ErrorKind::bad_file,
      .message = fmt::format("there are {} runs in it; at most {} are imported at once", runs, kMostImportedRuns),
      .hint = "Import fewer files at a time."};
}

/// Names for messages: without the folder, unless two would be the same. LoadGen's files are told apart by it.
std::vector<NamedText> with_short_names(std::span<const NamedText> files, ImportFormat format) {
  std::map<std::string, int> uses;
  for (const auto& file : files) ++uses[fs::path(file.name).filename().string()];
  std::vector<NamedText> named(files.begin(), files.end());
  for (auto& file : named) {
    const std::string name = fs::path(file.name).filename().string();
    if (uses[name] == 1 && format != ImportFormat::loadgen) file.name = name;
  }
  return named;
}

Result<ImportedStudy> from_slurm(std::span<const NamedText> files) {
  ASSAY_TRY(const auto import, import_slurm(files));
  if (import.jobs.size() > kMostImportedRuns) return too_many(import.jobs.size());
  return study_from_slurm(import);
}

Result<ImportedStudy> from_results(std::span<const NamedText> files, const ImportOptions& options) {
  ASSAY_TRY(const auto results, import_node_results(files, options.price));
  const std::size_t runs = results.nodes.size() + results.parts.size() + results.summaries.size();
  if (runs > kMostImportedRuns) return too_many(runs);
  return study_from_results(results, options.price);
}

Result<ImportedStudy> from_loadgen(std::span<const NamedText> files) {
  ASSAY_TRY(const auto import, import_loadgen(files));
  if (import.results.size() > kMostImportedRuns) return too_many(import.results.size());
  return study_from_loadgen(import);
}

/// Reads each file with `read`. Those that cannot be read are flags, as long as one can.
template <typename Read>
Result<std::vector<Flag>> read_each(std::span<const NamedText> files, Read read) {
  std::vector<Flag> flags;
  std::optional<Error> first_error;
  for (const auto& file : files) {
    Result<void> done = read(file);
    if (done) continue;
    flags.push_back({"unreadable", file.name, redact(done.error().text())});
    if (!first_error) first_error = done.error();
  }
  if (first_error && flags.size() == files.size()) return *first_error;
  return flags;
}

Result<ImportedStudy> from_csv(std::span<const NamedText> files) {
  std::vector<NamedCsv> read;
  std::size_t runs = 0;
  ASSAY_TRY(const auto flags, read_each(files, [&](const NamedText& file) -> Result<void> {
              const auto looks_like = guess_import_format(file.text, file.name);
              // Nearly any text can be cut at its commas.
              if (looks_like && looks_like != ImportFormat::csv) {
                return Error{.kind = ErrorKind::bad_file, .message = fmt::format("'{}' is no CSV file", file.name)};
              }
              ASSAY_TRY(auto metrics, parse_metrics_csv(file.text, file.name));
              runs += metrics.runs.size();
              read.push_back({file.name, std::move(metrics)});
              return {};
            }));
  if (runs > kMostImportedRuns) return too_many(runs);
  auto imported = study_from_csv(read);
  imported.study.flags.insert(imported.study.flags.end(), flags.begin(), flags.end());
  return imported;
}

void append(ImportedStudy& into, ImportedStudy from) {
  std::move(from.runs.begin(), from.runs.end(), std::back_inserter(into.runs));
  std::move(from.study.plan.begin(), from.study.plan.end(), std::back_inserter(into.study.plan));
  std::move(from.study.flags.begin(), from.study.flags.end(), std::back_inserter(into.study.flags));
}

/// Whole runs as JSON, or the series of one as CSV.
Result<ImportedStudy> from_exports(std::span<const NamedText> files) {
  std::vector<RunWithSeries> runs;
  std::vector<NamedCsv> series;
  ASSAY_TRY(const auto flags, read_each(files, [&](const NamedText& file) -> Result<void> {
              if (file.text.starts_with("step,time_ns")) {
                ASSAY_TRY(auto metrics, parse_metrics_csv(file.text, file.name));
                series.push_back({file.name, std::move(metrics)});
                return {};
              }
              ASSAY_TRY(auto exported, parse_runs_json(file.text, file.name));
              std::move(exported.begin(), exported.end(), std::back_inserter(runs));
              return {};
            }));
  if (runs.size() + series.size() > kMostImportedRuns) return too_many(runs.size() + series.size());
  auto imported = study_from_exports(std::move(runs));
  append(imported, study_from_csv(series));
  imported.study.flags.insert(imported.study.flags.end(), flags.begin(), flags.end());
  return imported;
}

Result<ImportedStudy> convert(ImportFormat format, std::span<const NamedText> files, const ImportOptions& options) {
  switch (format) {
    case ImportFormat::slurm: return from_slurm(files);
    case ImportFormat::results: return from_results(files, options);
    case ImportFormat::csv: return from_csv(files);
    case ImportFormat::loadgen: return from_loadgen(files);
    case ImportFormat::run: return from_exports(files);
  }
  ASSAY_ASSERT(false);
}

/// Says which import would fit where the files look like something else.
Error with_hint(Error error, ImportFormat format, std::span<const NamedText> files) {
  for (const auto& file : files) {
    const auto looks_like = guess_import_format(file.text, file.name);
    if (!looks_like || looks_like == format) continue;
    error.hint = fmt::format("'{}' looks like {}: assay import {} {}", file.name, description_of(*looks_like),
                             name_of(*looks_like), file.name);
    break;
  }
  return error;
}

/// Files that could be read, and hold no run.
Error nothing_in(const ImportedStudy& imported, std::span<const NamedText> files) {
  const auto& flags = imported.study.flags;
  return Error{.kind = ErrorKind::bad_file,
               .message = fmt::format("'{}': {}", files.empty() ? "" : files.front().name,
                                      flags.empty() ? "there is nothing to import in it" : flags.front().message)};
}

std::string study_name(const ImportedStudy& imported, ImportFormat format, std::span<const NamedText> files) {
  if (imported.runs.size() == 1) return imported.runs.front().run.name;
  std::string common;
  for (std::size_t i = 0; i < files.size(); ++i) {
    fs::path folder = fs::path(files[i].name).parent_path();
    // LoadGen's files are one folder deeper: a folder per result.
    if (format == ImportFormat::loadgen) folder = folder.parent_path();
    const std::string name = folder.filename().string();
    if (i == 0) common = name;
    if (name != common || name == "." || name == "..") return fmt::format("{} import", name_of(format));
  }
  return common.empty() ? fmt::format("{} import", name_of(format)) : redact(printable(common));
}

/// The list of files for people, and a hash for the next import of the same ones.
void describe_source(Study& study, ImportFormat format, std::span<const NamedText> files,
                     const ImportOptions& options) {
  std::vector<std::string> contents;
  const std::string origins = std::move(study.source);
  study.source = fmt::format("# Imported with: assay import {}\nfiles:\n", name_of(format));
  for (const auto& file : files) {
    const std::string hash = content_hash(file.text);
    study.source += fmt::format("  - {{name: {}, bytes: {}, content_hash: {}}}\n",
                                json::serialize(json::value(redact(printable(file.name)))), file.text.size(), hash);
    // The name is part of what is read: job ids and nodes may come from it.
    contents.push_back(fmt::format("{} {}", hash, fs::path(file.name).filename().string()));
  }
  study.source += origins;
  std::sort(contents.begin(), contents.end());
  std::string all = fmt::format("import {}\n{}", name_of(format), join(contents, "\n"));
  if (options.price) {
    const std::string price =
        fmt::format("{} {}/{}", options.price->amount, options.price->currency, options.price->per);
    study.source += fmt::format("price: {}\n", price);
    all += "\nprice " + price;
  }
  study.spec_hash = content_hash(all);
}

}  // namespace

std::vector<Flag> all_flags(const ImportedStudy& imported) {
  std::vector<Flag> flags = imported.study.flags;
  for (const auto& one : imported.runs) flags.insert(flags.end(), one.run.flags.begin(), one.run.flags.end());
  return flags;
}

Result<ImportedStudy> import_files(ImportFormat format, std::span<const NamedText> files,
                                   const ImportOptions& options) {
  auto converted = convert(format, with_short_names(files, format), options);
  if (!converted) return with_hint(std::move(converted).error(), format, files);
  ImportedStudy imported = std::move(converted).value();
  if (imported.runs.empty()) return with_hint(nothing_in(imported, files), format, files);
  imported.study.name = options.name.empty() ? study_name(imported, format, files) : options.name;
  const auto add_tags = [](std::vector<std::string>& tags, const std::vector<std::string>& more) {
    for (const auto& tag : more) {
      if (std::find(tags.begin(), tags.end(), tag) == tags.end()) tags.push_back(tag);
    }
  };
  add_tags(imported.study.tags, {fmt::format("imported={}", name_of(format))});
  add_tags(imported.study.tags, options.tags);
  for (auto& one : imported.runs) add_tags(one.run.tags, options.tags);
  describe_source(imported.study, format, files, options);
  return imported;
}

}  // namespace assay
