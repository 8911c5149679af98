#include "store/local/run_arrival.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "store/local/local_store.h"
#include "store/local/run_folder.h"

namespace assay {
namespace {

/// Name, tags and, of a run that was interrupted, the state may have been changed since it arrived.
bool hold_the_same_run(const RunFolder& first, const RunFolder& second) {
  const auto a = first.load();
  const auto b = second.load();
  return a && b && a->created == b->created && a->spec_hash == b->spec_hash;
}

/// The node forgets its own copy now: a power cut must not undo the move.
Result<void> sync_folder(const fs::path& folder) {
  ASSAY_TRY(const auto opened, open_file(folder, O_RDONLY | O_DIRECTORY));
  if (::fsync(opened.get()) != 0) return system_error(errno, fmt::format("cannot sync '{}'", folder.string()));
  return {};
}

}  // namespace

Result<void> take_over_run(const fs::path& data, const std::string& run, const fs::path& copy) {
  const fs::path runs = data / "runs";
  const fs::path target = runs / run;
  ASSAY_CHECK(make_folders(runs));
  std::error_code code;
  if (!fs::exists(target, code)) {
    fs::rename(copy, target, code);
    if (code) {
      return Error{.kind = ErrorKind::io,
                   .message = fmt::format("cannot move '{}': {}", copy.string(), code.message())};
    }
  } else if (!hold_the_same_run({copy, run}, {target, run})) {
    return Error{.kind = ErrorKind::usage, .message = fmt::format("there is another run '{}' already", run)};
  }
  ASSAY_CHECK(sync_folder(runs));
  ASSAY_TRY(const auto store, open_local_store(data));
  // A change of nothing lists it, and closes it if it was interrupted.
  const auto listed = store->change_run(run, [](Run&) { return Result<void>(); });
  return listed ? Result<void>() : Result<void>(listed.error());
}

}  // namespace assay
