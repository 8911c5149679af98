#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "model/study.h"

namespace assay {

/// The studies of a data folder: one JSON file each, and one that grows with every run that was started. There are few
/// of them: they need no index. Any thread.
class StudyFolder {
 public:
  explicit StudyFolder(fs::path path) : path_(std::move(path)) {}

  Result<void> create(const Study& study);
  Result<Study> find(std::string_view id) const;
  /// Appends one line to `<id>.runs`: however long the plan is, it is not written again.
  Result<void> note_run(std::string_view id, std::size_t entry, std::string_view run);
  Result<void> remove(std::string_view id);
  /// Ids of all files, readable or not.
  std::vector<std::string> ids() const;

 private:
  fs::path file(std::string_view id) const { return path_ / (std::string(id) + ".json"); }
  fs::path progress(std::string_view id) const { return path_ / (std::string(id) + ".runs"); }
  fs::path lock() const { return path_ / "change.lock"; }
  Result<void> read_progress(Study& study) const;

  fs::path path_;
};

}  // namespace assay
