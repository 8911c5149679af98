#include "launch/hosted/folder_part.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/log.h"

namespace assay {
namespace {

constexpr std::size_t kMostFresh = std::size_t{256} << 10;
constexpr Nanos kAskPlacePeriod = std::chrono::seconds(1);

}  // namespace

FolderPart::FolderPart(JobFolder folder, FolderPartOptions options)
    : folder_(std::move(folder)), options_(std::move(options)), position_(options_.from) {}

void FolderPart::look() {
  if (!host_) {
    if (auto host = folder_.read_host(options_.number); host && *host) host_ = **std::move(host);
  }
  // The ending first: whatever was written before it is seen by the reading that follows.
  if (!ending_) look_for_ending();
  for (const auto stream : kJobStreams) {
    if (fresh_[stream].empty() && !whole_[stream]) look_for_bytes(stream);
  }
}

void FolderPart::look_for_ending() {
  // The lock before the record: a host writes its ending and then lets go.
  const bool abandoned = !owner_of(folder_.lock(options_.number)).empty() &&
                         FileLock::state(folder_.lock(options_.number)) == LockState::free;
  auto ending = folder_.read_ending(options_.number);
  if (!ending) {
    ending_ = PartEnding(std::move(ending).error());
  } else if (*ending) {
    ending_ = **std::move(ending);
  } else if (abandoned) {
    ending_ = PartEnding(Error{.kind = ErrorKind::crash,
                               .message = fmt::format("the process that hosted the job is gone ({}): it was killed, or "
                                                      "its machine went down",
                                                      owner_of(folder_.lock(options_.number)))});
  } else if (const auto now = SystemClock().now(); now >= ask_place_at_) {
    ask_place_at_ = now + kAskPlacePeriod;
    if (auto loss = options_.find_loss()) ending_ = PartEnding(*std::move(loss));
  }
  if (ending_) fetch_artifacts();
}

void FolderPart::look_for_bytes(JobStream stream) {
  const FileDescriptor file(::open(folder_.stream(options_.number, stream).c_str(), O_RDONLY | O_CLOEXEC));
  std::string& fresh = fresh_[stream];
  fresh.resize(kMostFresh);
  const ssize_t got = file ? ::pread(file.get(), fresh.data(), fresh.size(), static_cast<off_t>(position_[stream])) : 0;
  fresh.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  whole_[stream] = fresh.empty() && ending_.has_value();
}

std::size_t FolderPart::read(JobStream stream, std::span<char> into) {
  std::string& fresh = fresh_[stream];
  const std::size_t count = std::min(fresh.size(), into.size());
  std::memcpy(into.data(), fresh.data(), count);
  fresh.erase(0, count);
  position_[stream] += count;
  return count;
}

void FolderPart::wish(JobWish::Kind kind, Nanos grace) {
  if (auto made = folder_.make_wish(options_.number, kind, grace); !made) {
    log_warning("the job could not be told to end: {}", made.error().text());
  }
}

void FolderPart::fetch_artifacts() {
  if (options_.artifacts_to.empty()) return;
  if (auto copied = copy_missing(folder_.artifacts(), options_.artifacts_to); !copied) {
    log_warning("what the job left could not be fetched: {}", copied.error().text());
  }
}

Result<void> copy_missing(const fs::path& from, const fs::path& to) {
  std::error_code code;
  if (!fs::exists(from, code)) return {};
  ASSAY_CHECK(make_folders(to));
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks | fs::copy_options::skip_existing,
           code);
  if (code)
    return Error{.kind = ErrorKind::io, .message = fmt::format("copying '{}': {}", from.string(), code.message())};
  return {};
}

}  // namespace assay
