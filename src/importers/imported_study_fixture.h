#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "importers/imported_study.h"
#include "importers/text/import_fixture.h"

namespace assay {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

inline Result<ImportedStudy> try_import(ImportFormat format, const NamedTexts& files,
                                        const ImportOptions& options = {}) {
  std::vector<NamedText> named;
  for (const auto& [name, text] : files) named.push_back({name, text});
  return import_files(format, named, options);
}

inline ImportedStudy import_texts(ImportFormat format, const NamedTexts& files, const ImportOptions& options = {}) {
  auto imported = try_import(format, files, options);
  EXPECT_TRUE(imported.ok()) << imported.error().text();
  return imported ? std::move(imported).value() : ImportedStudy{};
}

/// Files of tests/fixtures/imports.
inline ImportedStudy import_fixtures(ImportFormat format, const std::vector<std::string>& names,
                                     const ImportOptions& options = {}) {
  NamedTexts files;
  for (const auto& name : names) files.emplace_back(name, fixture(name));
  return import_texts(format, files, options);
}

inline Error error_of(ImportFormat format, const NamedTexts& files) {
  auto imported = try_import(format, files);
  if (!imported) return imported.error();
  ADD_FAILURE() << "was imported";
  return {};
}

inline const SeriesWithPoints* find_series(const RunWithSeries& recorded, std::string_view name) {
  const auto found = std::find_if(recorded.series.begin(), recorded.series.end(),
                                  [&](const SeriesWithPoints& series) { return series.key.name == name; });
  return found == recorded.series.end() ? nullptr : &*found;
}

inline const Run* find_run(const ImportedStudy& imported, std::string_view name) {
  const auto found = std::find_if(imported.runs.begin(), imported.runs.end(),
                                  [&](const RunWithSeries& one) { return one.run.name == name; });
  return found == imported.runs.end() ? nullptr : &found->run;
}

}  // namespace assay
