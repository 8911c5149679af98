#include "launch/hosted/folder_job.h"

#include <fmt/format.h>

#include <thread>

#include "launch/hosted/folder_part.h"
#include "launch/hosted/parted_job.h"
#include "launch/job.h"

namespace assay {
namespace {

constexpr Nanos kStartPause = std::chrono::milliseconds(10);

}  // namespace

Result<std::unique_ptr<RunningJob>> own_folder_job(const JobFolder& folder, FolderJobOptions options) {
  std::error_code code;
  if (!fs::exists(folder.order(), code)) {
    return Error{.kind = ErrorKind::not_found,
                 .message = fmt::format("there is no job '{}' in '{}'", options.handle, folder.path().string())};
  }
  ASSAY_TRY(const Job job, folder.read_job());
  auto lock = FileLock::claim(folder.owner());
  if (!lock && lock.error().kind == ErrorKind::busy) {
    return Error{
        .kind = ErrorKind::busy,
        .message = fmt::format("the job '{}' has its owner already: {}", options.handle, owner_of(folder.owner()))};
  }
  if (!lock) return std::move(lock).error();
  const auto count = static_cast<std::size_t>(job.ranks.nodes);
  MergeNotes notes;
  if (count > 1) {
    ASSAY_TRY(notes, MergeNotes::open(folder.path() / "merge", count, options.taken));
  }
  std::vector<std::unique_ptr<JobPart>> parts;
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::int64_t>(i);
    parts.push_back(std::make_unique<FolderPart>(
        folder, FolderPartOptions{.number = number,
                                  .from = count > 1 ? notes.merged(i) : options.taken,
                                  .artifacts_to = job.scratch ? *job.scratch / "artifacts" : fs::path(),
                                  .find_loss = [find = options.find_loss, number] { return find(number); }}));
  }
  return make_parted_job(std::move(parts), {.handle = std::move(options.handle),
                                            .grace = job.grace,
                                            .notes = std::move(notes),
                                            .keep = std::make_shared<FileLock>(std::move(*lock))});
}

Result<void> await_start(const JobFolder& folder, std::int64_t parts, SteadyTime deadline) {
  for (std::int64_t part = 0; part < parts; ++part) ASSAY_CHECK(await_part(folder, part, deadline));
  return {};
}

Result<void> await_part(const JobFolder& folder, std::int64_t part, SteadyTime deadline) {
  const SystemClock clock;
  while (true) {
    // The record first: a part that has begun and ended meanwhile counts as begun.
    ASSAY_TRY(const auto host, folder.read_host(part));
    ASSAY_TRY(const auto ending, folder.read_ending(part));
    if (host) return {};
    if (ending && !*ending) return ending->error();
    if (ending) return {};
    if (clock.now() >= deadline) {
      return Error{.kind = ErrorKind::timeout,
                   .message = fmt::format("part {} of the job did not begin in time", part)};
    }
    std::this_thread::sleep_for(kStartPause);
  }
}

}  // namespace assay
