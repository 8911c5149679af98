#include "store/local/run_leases.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/crash_point.h"
#include "store/journal/journal_reader.h"
#include "store/lease.h"
#include "store/read_journals.h"

namespace assay {
namespace {

constexpr Nanos kBetweenLooks = std::chrono::minutes(1);

Error fenced(const Lease& lease, const std::optional<Lease>& now) {
  if (now && now->epoch > lease.epoch) {
    return Error{.kind = ErrorKind::denied,
                 .message = fmt::format("run '{}' has another owner now: {}", lease.run, now->owner)};
  }
  if (now) {
    return Error{.kind = ErrorKind::denied,
                 .message = fmt::format("the lease of '{}' on run '{}' has run out", lease.owner, lease.run)};
  }
  return Error{.kind = ErrorKind::denied, .message = fmt::format("run '{}' has ended", lease.run)};
}

Result<std::uint64_t> size_of(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return system_error(errno, "cannot look at the journal");
  return static_cast<std::uint64_t>(info.st_size);
}

/// Appends what is new of `frames`, which belong at `offset`; returns how long the journal is now. What cannot be
/// written as a whole frame is not there afterwards.
Result<std::uint64_t> append_to(int fd, std::uint64_t offset, std::string_view frames) {
  ASSAY_TRY(const auto size, size_of(fd));
  if (offset > size || offset + frames.size() <= size) return size;
  const auto known = static_cast<std::size_t>(size - offset);
  const auto fresh = frames.substr(known);
  if (whole_frames(fresh, size) != fresh.size()) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("what should follow at offset {} of the journal are no whole frames", size)};
  }
  std::size_t done = 0;
  while (done < fresh.size()) {
    const ssize_t count = ::pwrite(fd, fresh.data() + done, fresh.size() - done, static_cast<off_t>(size + done));
    if (count >= 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      auto error = system_error(errno, "cannot write the journal");
      const auto whole = whole_frames(fresh.substr(0, done), size);
      // Where even this fails a reader skips the torn frame.
      [[maybe_unused]] const int cut = ::ftruncate(fd, static_cast<off_t>(size + whole));
      return error;
    }
  }
  crash_point("frames-stored");
  return size + done;
}

class JournalOfFolder final : public JournalBytes {
 public:
  JournalOfFolder(const RunFolder& folder, std::uint64_t size) : folder_(folder), size_(size) {}
  Result<std::uint64_t> size() override { return size_; }
  Result<std::string> read_at(std::uint64_t offset, std::size_t length) override {
    return folder_.read_journal(kOwnersJournal, offset, length);
  }

 private:
  const RunFolder& folder_;
  const std::uint64_t size_;
};

/// Cuts off what the last owner of a journal of groups has not finished writing.
Result<void> cut_unfinished(const RunFolder& folder, int journal) {
  ASSAY_TRY(const auto size, size_of(journal));
  JournalOfFolder bytes(folder, size);
  ASSAY_TRY(const auto end, JournalReader(bytes, std::string(kOwnersJournal)).end_of_groups());
  if (end == size || ::ftruncate(journal, static_cast<off_t>(end)) == 0) return {};
  return system_error(errno, "cannot cut off what was not finished of the journal");
}

std::string this_process() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return fmt::format("pid {} on {}", ::getpid(), host.data());
}

/// So many files this process may have open for further processes of runs: whoever asks for more must not take those
/// that everybody needs.
std::size_t most_held() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 0;
  return std::min<std::size_t>(files.rlim_cur / 8, RunLeases::kMostRanks);
}

/// `usage` where a run has as many journals as it may have.
Result<void> check_ranks(const RunFolder& folder) {
  if (folder.journals().size() <= RunLeases::kMostRanks) return {};
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("run '{}' has {} further processes already, as many as may be recorded",
                                      folder.id(), RunLeases::kMostRanks)};
}

Error owned(std::string_view run, std::string_view owner) {
  return Error{.kind = ErrorKind::busy, .message = fmt::format("run '{}' has an owner: {}", run, owner)};
}

}  // namespace

Lease RunLeases::lease_for(const std::string& run, std::uint64_t epoch, const LeaseTerms& terms) const {
  Lease lease{.run = run, .journal = std::string(kOwnersJournal), .owner = terms.owner, .epoch = epoch};
  if (lease.owner.empty()) lease.owner = this_process();
  if (terms.length) lease.expires = clock_.wall() + *terms.length;
  return lease;
}

Result<RunLeases::Claim> RunLeases::claim_new(const RunFolder& staged, const LeaseTerms& terms) {
  Claim claim{.lease = lease_for(staged.id(), 1, terms), .lock = {}, .journal = {}};
  ASSAY_CHECK(staged.save_lease(claim.lease));
  if (!terms.length) {
    ASSAY_TRY(claim.lock, FileLock::claim(staged.owner_lock()));
    ASSAY_TRY(claim.journal, open_file(staged.journal(), O_RDWR));
  }
  return claim;
}

Lease RunLeases::hold(Claim claim) {
  if (claim.lock) {
    auto held = std::make_shared<Held>();
    held->epoch = claim.lease.epoch;
    held->lock = std::move(claim.lock);
    held->journal = std::move(claim.journal);
    const std::lock_guard lock(mutex_);
    held_[{claim.lease.run, claim.lease.journal}] = std::move(held);
  }
  return std::move(claim.lease);
}

std::shared_ptr<RunLeases::Held> RunLeases::held_by(const Lease& lease) const {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find({lease.run, lease.journal});
  return found != held_.end() && found->second->epoch == lease.epoch ? found->second : nullptr;
}

Result<void> RunLeases::check(const RunFolder& folder, const Lease& lease) const {
  ASSAY_TRY(const auto now, folder.load_lease());
  if (!now || now->epoch != lease.epoch || now->owner != lease.owner) return fenced(lease, now);
  auto owners = lease;
  owners.journal = kOwnersJournal;
  if (now->expires ? clock_.wall() >= *now->expires : !held_by(owners)) return fenced(lease, now);
  return {};
}

Result<Lease> RunLeases::take(std::string_view id, const LeaseTerms& terms) {
  ASSAY_CHECK(runs_->load(runs_->folder(id)));
  const auto folder = runs_->folder(id);
  Claim claim;
  {
    ASSAY_TRY(const auto lock, FileLock::acquire(folder.change_lock()));
    ASSAY_TRY(auto run, folder.load());
    if (run.state == RunState::ended) {
      return Error{.kind = ErrorKind::usage, .message = fmt::format("run '{}' has ended", id)};
    }
    ASSAY_TRY(const auto before, folder.load_lease());
    claim.lease = lease_for(folder.id(), before ? before->epoch + 1 : 1, terms);
    if (folder.owner() == LockState::held) return owned(id, folder.owner_name());
    // Whoever had it may have it again at any time: it was started anew, or never got our answer.
    if (before && before->expires && clock_.wall() < *before->expires && before->owner != claim.lease.owner) {
      return owned(id, before->owner);
    }
    if (!terms.length) {
      ASSAY_TRY(claim.lock, FileLock::claim(folder.owner_lock()));
      ASSAY_TRY(claim.journal, open_file(folder.journal(), O_RDWR));
      if (!run.placement.place.empty()) ASSAY_CHECK(cut_unfinished(folder, claim.journal.get()));
    }
    ASSAY_CHECK(folder.save_lease(claim.lease));
    crash_point("lease-stored");
    if (run.state == RunState::queued) {
      run.state = RunState::starting;
      ASSAY_CHECK(folder.save(run));
      crash_point("starting-stored");
      runs_->note(run);
    }
  }
  return hold(std::move(claim));
}

Result<Lease> RunLeases::renew(const Lease& lease, Nanos length) {
  const auto folder = runs_->folder(lease.run);
  ASSAY_CHECK(folder.load());
  ASSAY_TRY(const auto lock, FileLock::acquire(folder.change_lock()));
  ASSAY_CHECK(check(folder, lease));
  if (!lease.expires) return lease;
  auto renewed = lease;
  renewed.expires = clock_.wall() + length;
  ASSAY_CHECK(folder.save_lease(renewed));
  return renewed;
}

void RunLeases::give_up(const Lease& lease) {
  if (const auto held = held_by(lease)) {
    const std::lock_guard lock(mutex_);
    held_.erase({lease.run, lease.journal});
    return;
  }
  const auto folder = runs_->folder(lease.run);
  if (!folder.load().ok()) return;
  const auto lock = FileLock::acquire(folder.change_lock());
  if (!lock.ok() || !check(folder, lease).ok()) return;
  auto over = lease;
  over.expires = clock_.wall();
  // One that cannot be written runs out by itself.
  (void)folder.save_lease(over).ok();
}

Result<Run> RunLeases::change_owned(const Lease& lease, const std::function<Result<void>(Run&)>& change) {
  const auto folder = runs_->folder(lease.run);
  ASSAY_CHECK(folder.load());
  ASSAY_TRY(const auto lock, FileLock::acquire(folder.change_lock()));
  ASSAY_CHECK(check(folder, lease));
  ASSAY_TRY(auto run, folder.load());
  const auto before = run.state;
  ASSAY_CHECK(change(run));
  run.id = lease.run;
  if (run.state < before) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("a run that is {} cannot become {}", name_of(before), name_of(run.state))};
  }
  if (run.state == RunState::ended) folder.sync();
  ASSAY_CHECK(folder.save(run));
  crash_point("change-stored");
  runs_->note(run);
  crash_point("change-listed");
  if (run.state == RunState::ended) {
    std::error_code ignored;
    fs::remove(folder.lease(), ignored);
    folder.sync();
    const std::lock_guard hold(mutex_);
    held_.erase({lease.run, lease.journal});
  }
  return run;
}

Result<Lease> RunLeases::join(const RunFolder& folder, std::string_view name) {
  ASSAY_CHECK(make_folders(folder.ranks()));
  ASSAY_CHECK(check_ranks(folder));
  ASSAY_CHECK(check_room());
  Lease lease{.run = folder.id(), .journal = std::string(name), .owner = this_process()};
  auto file = open_file(folder.journal(name), O_RDWR | O_CREAT | O_EXCL);
  if (!file) {
    auto error = std::move(file).error();
    std::error_code ignored;
    if (fs::exists(folder.journal(name), ignored)) error.kind = ErrorKind::busy;
    return error;
  }
  // Tells readers that more may come.
  ASSAY_CHECK(FileLock::lock(file->get()));
  auto held = std::make_shared<Held>();
  held->journal = std::move(file).value();
  const std::lock_guard lock(mutex_);
  held_[{lease.run, lease.journal}] = std::move(held);
  return lease;
}

Result<void> RunLeases::check_room() {
  const std::lock_guard lock(mutex_);
  if (held_.size() < most_held()) return {};
  // Those who died without a word are found out now and then.
  if (const WallTime now = clock_.wall(); now >= looked_ + kBetweenLooks || now < looked_) {
    looked_ = now;
    std::map<std::string, bool> over;
    std::erase_if(held_, [&](const auto& entry) {
      const auto& [run, journal] = entry.first;
      if (journal == kOwnersJournal) return false;
      const auto [known, is_new] = over.try_emplace(run, false);
      if (is_new) {
        const auto found = runs_->folder(run).load();
        known->second = found.ok() ? found->state == RunState::ended : found.error().kind == ErrorKind::not_found;
      }
      return known->second;
    });
    if (held_.size() < most_held()) return {};
  }
  return Error{
      .kind = ErrorKind::io,
      .message = fmt::format("no more than {} further processes of runs can be recorded here at a time", held_.size()),
      .hint = "Whoever runs this leader can let it open more files (`ulimit -n`)."};
}

Result<std::uint64_t> RunLeases::append(const Lease& lease, std::uint64_t offset, std::string_view frames) {
  if (const auto held = held_by(lease)) {
    const std::lock_guard lock(held->mutex);
    return append_to(held->journal.get(), offset, frames);
  }
  const auto folder = runs_->folder(lease.run);
  if (!is_file_name(lease.run) || !is_file_name(lease.journal)) return fenced(lease, std::nullopt);
  std::error_code code;
  if (!fs::is_directory(folder.path(), code)) {
    return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no run '{}'", lease.run)};
  }
  ASSAY_TRY(const auto lock, FileLock::acquire(folder.change_lock()));
  ASSAY_CHECK(check(folder, lease));
  if (lease.journal == kOwnersJournal) {
    ASSAY_TRY(const auto file, open_file(folder.journal(), O_RDWR));
    return append_to(file.get(), offset, frames);
  }
  ASSAY_CHECK(make_folders(folder.ranks()));
  if (!fs::exists(folder.journal(lease.journal), code)) ASSAY_CHECK(check_ranks(folder));
  ASSAY_TRY(const auto file, open_file(folder.journal(lease.journal), O_RDWR | O_CREAT));
  return append_to(file.get(), offset, frames);
}

}  // namespace assay
