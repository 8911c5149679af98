#pragma once

#include "importers/slurm/slurm_log.h"
#include "importers/text/import_fixture.h"

namespace assay {

inline SlurmImport import_texts(const std::vector<NamedText>& files) {
  auto import = import_slurm(files);
  EXPECT_TRUE(import.ok());
  return import ? std::move(import).value() : SlurmImport{};
}

/// The one job of one text.
inline SlurmJob job_in(std::string_view text, const std::string& name = "slurm-7.out") {
  auto import = import_texts({{name, text}});
  EXPECT_EQ(import.jobs.size(), 1u);
  return import.jobs.empty() ? SlurmJob{} : import.jobs.front();
}

inline std::vector<Flag> flags_of(std::string_view text) { return import_texts({{"slurm-7.out", text}}).flags; }

/// The end of a job that has nothing wrong.
inline constexpr std::string_view kEnd = "Total training time: 10.00 seconds\n";

}  // namespace assay
