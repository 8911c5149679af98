#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "model/study.h"

namespace assay {

/// The studies of a data folder, one JSON file each. There are few of them: they need no index. Any thread.
class StudyFolder {
 public:
  explicit StudyFolder(fs::path path) : path_(std::move(path)) {}

  Result<void> create(const Study& study);
  Result<Study> find(std::string_view id) const;
  Result<Study> change(std::string_view id, const std::function<Result<void>(Study&)>& change);
  Result<void> remove(std::string_view id);
  /// Ids of all files, readable or not.
  std::vector<std::string> ids() const;

 private:
  fs::path file(std::string_view id) const { return path_ / (std::string(id) + ".json"); }
  fs::path lock() const { return path_ / "change.lock"; }
  Result<void> save(const Study& study) const;

  fs::path path_;
};

}  // namespace assay
