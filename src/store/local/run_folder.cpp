#include "store/local/run_folder.h"

#include <fmt/format.h>

#include "base/json.h"

namespace assay {

Result<Run> RunFolder::load() const {
  std::error_code code;
  if (!is_file_name(id_) || !fs::is_directory(path_, code)) {
    return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no run '{}'", id_)};
  }
  const auto load = [&]() -> Result<Run> {
    auto text = read_file(record());
    if (!text) {
      auto error = std::move(text).error();
      if (error.kind == ErrorKind::missing_file)
        error = {.kind = ErrorKind::bad_file, .message = "the file is missing"};
      return error;
    }
    ASSAY_TRY(const auto value, parse_json(*text));
    ASSAY_TRY(auto run, run_from_json(value));
    if (run.id != id_) {
      return Error{.kind = ErrorKind::bad_file, .message = fmt::format("it belongs to another run, '{}'", run.id)};
    }
    return run;
  };
  auto run = load();
  if (!run) run.error().at = record().string();
  return std::move(run).within(fmt::format("run '{}': run.json", id_));
}

Result<void> RunFolder::save(const Run& run) const {
  return write_file_atomically(record(), pretty_json(to_json(run)));
}

std::string RunFolder::owner_name() const { return owner_of(owner_lock()); }

Result<FileLock> take_ownership(const RunFolder& folder) { return FileLock::claim(folder.owner_lock()); }

}  // namespace assay
