#include "store/local/run_writers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/log.h"

namespace assay {
namespace {

/// Makes the names in a folder survive a power cut, where the file system can.
void try_to_sync(const fs::path& path) {
  if (const auto folder = open_file(path, O_RDONLY | O_DIRECTORY); folder.ok()) ::fsync(folder->get());
}

/// A writer that goes away without `finish` still hands over what it has.
void flush_last(JournalWriter& journal, std::string_view id) {
  if (const auto flushed = journal.flush(); !flushed.ok() && flushed.error().kind != ErrorKind::internal) {
    log_warning("run '{}': {}", id, flushed.error().text());
  }
}

}  // namespace

OwnerRunWriter::OwnerRunWriter(std::shared_ptr<RunCatalogue> catalogue, Run run, JournalWriter journal, FileLock owner)
    : JournalRunWriter(run.id, std::move(journal)),
      catalogue_(std::move(catalogue)),
      stored_(std::move(run)),
      owner_(std::move(owner)) {}

OwnerRunWriter::~OwnerRunWriter() {
  if (owner_) flush_last(journal_, id_);
}

Result<void> OwnerRunWriter::update(const Run& run) {
  if (!owner_) return Error{.kind = ErrorKind::internal, .message = fmt::format("run '{}' has ended", id_)};
  return store(run);
}

Result<void> OwnerRunWriter::finish(const Run& run) {
  if (!owner_) return Error{.kind = ErrorKind::internal, .message = fmt::format("run '{}' has ended", id_)};
  // A journal that could not be written must not keep the verdict from being stored.
  auto journal = journal_.finish();
  auto final = run;
  final.state = RunState::ended;
  auto stored = store(std::move(final));
  try_to_sync(catalogue_->folder(id_).path());
  owner_.reset();
  return journal.ok() ? stored : journal;
}

Result<void> OwnerRunWriter::store(Run run) {
  const auto folder = catalogue_->folder(id_);
  run.id = id_;
  auto next = run;
  ASSAY_TRY(const auto lock, FileLock::acquire(folder.change_lock()));
  // Others rename and tag a run while it goes on: what they changed stays unless we changed it too.
  if (const auto found = folder.load(); found.ok()) {
    if (run.tags == stored_.tags) next.tags = found->tags;
    if (run.name == stored_.name) next.name = found->name;
  }
  ASSAY_CHECK(folder.save(next));
  catalogue_->note(next);
  stored_ = std::move(run);
  return {};
}

RankRunWriter::~RankRunWriter() { flush_last(journal_, id_); }

Result<void> RankRunWriter::finish(const Run&) { return journal_.finish(); }

}  // namespace assay
