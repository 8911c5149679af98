#include "store/local/study_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/file_lock.h"
#include "base/json.h"
#include "store/local/run_folder.h"

namespace assay {
namespace {

constexpr std::string_view kSuffix = ".json";

Error no_study(std::string_view id) {
  return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no study '{}'", id)};
}

}  // namespace

Result<void> StudyFolder::save(const Study& study) const {
  return write_file_atomically(file(study.id), pretty_json(to_json(study)));
}

Result<void> StudyFolder::create(const Study& study) {
  ASSAY_CHECK(make_folders(path_));
  ASSAY_TRY(const auto hold, FileLock::acquire(lock()));
  std::error_code code;
  if (fs::exists(file(study.id), code)) {
    return Error{.kind = ErrorKind::busy, .message = fmt::format("there is a study '{}' already", study.id)};
  }
  return save(study);
}

Result<Study> StudyFolder::find(std::string_view id) const {
  if (!is_file_name(id)) return no_study(id);
  const auto load = [&]() -> Result<Study> {
    ASSAY_TRY(const auto text, read_file(file(id)));
    ASSAY_TRY(const auto value, parse_json(text));
    ASSAY_TRY(auto study, study_from_json(value));
    if (study.id != id) {
      return Error{.kind = ErrorKind::bad_file, .message = fmt::format("it belongs to another study, '{}'", study.id)};
    }
    return study;
  };
  auto study = load();
  if (study.ok()) return study;
  if (study.error().kind == ErrorKind::missing_file) return no_study(id);
  study.error().at = file(id).string();
  return std::move(study).within(fmt::format("study '{}'", id));
}

Result<Study> StudyFolder::change(std::string_view id, const std::function<Result<void>(Study&)>& change) {
  if (auto study = find(id); !study.ok()) return study;
  ASSAY_TRY(const auto hold, FileLock::acquire(lock()));
  ASSAY_TRY(auto study, find(id));
  ASSAY_CHECK(change(study));
  study.id = id;
  ASSAY_CHECK(save(study));
  return study;
}

Result<void> StudyFolder::remove(std::string_view id) {
  if (!is_file_name(id)) return no_study(id);
  std::error_code code;
  if (!fs::exists(file(id), code)) return no_study(id);
  ASSAY_TRY(const auto hold, FileLock::acquire(lock()));
  if (fs::remove(file(id), code)) return {};
  if (!code) return no_study(id);
  return system_error(code.value(), fmt::format("cannot remove the study '{}'", id));
}

std::vector<std::string> StudyFolder::ids() const {
  std::vector<std::string> ids;
  std::error_code code;
  for (fs::directory_iterator entry(path_, code), end; !code && entry != end; entry.increment(code)) {
    auto name = entry->path().filename().string();
    if (!name.ends_with(kSuffix)) continue;
    name.resize(name.size() - kSuffix.size());
    if (is_file_name(name)) ids.push_back(std::move(name));
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace assay
