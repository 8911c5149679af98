#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "model/study.h"
#include "store/study_list.h"

namespace assay {

/// The studies of a data folder: one JSON file each, which is written once, and one that grows with every run that was
/// started. What a list shows of them is read once and remembered: while the folder stays as it is, a page costs a look
/// at the folder and one at the progress of each study on it. Any thread.
class StudyFolder {
 public:
  explicit StudyFolder(fs::path path) : path_(std::move(path)) {}

  Result<void> create(const Study& study);
  Result<Study> find(std::string_view id) const;
  /// A page of those that can be read; the others are named in the log.
  Result<StudyPage> list(const StudyQuery& query);
  /// Appends one line to `<id>.runs`: however long the plan is, it is not written again.
  Result<void> note_run(std::string_view id, std::size_t entry, std::string_view run);
  Result<void> remove(std::string_view id);
  /// Ids of all files, readable or not.
  std::vector<std::string> ids() const;

 private:
  /// A file as it was when it was read.
  struct Known {
    fs::file_time_type written;
    std::uintmax_t size = 0;
    StudyRow row;
  };
  /// How far a file of progress was read, and what that says.
  struct Begun {
    std::uint64_t read = 0;
    std::vector<bool> entries;
    std::int64_t count = 0;
  };

  // With the mutex.
  void look();
  void read_again();
  std::int64_t begun(const StudyRow& row);

  fs::path file(std::string_view id) const { return path_ / (std::string(id) + ".json"); }
  fs::path progress(std::string_view id) const { return path_ / (std::string(id) + ".runs"); }
  fs::path lock() const { return path_ / "change.lock"; }
  Result<void> read_progress(std::string_view id, const std::function<void(std::size_t, std::string)>& on_run) const;

  const fs::path path_;
  std::mutex mutex_;
  std::map<std::string, Known, std::less<>> known_;
  std::vector<StudyRow> rows_;              ///< of `known_`, sorted
  std::optional<fs::file_time_type> seen_;  ///< the folder, when `rows_` was made
  bool is_settled_ = false;                 ///< nothing can have changed since without another time
  std::map<std::string, Begun, std::less<>> begun_;
};

}  // namespace assay
