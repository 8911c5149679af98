#include "leader/run_copies.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace assay {
namespace {

constexpr std::size_t kMaxParts = 4;
constexpr std::size_t kMaxRunJson = std::size_t{64} << 20;

/// Letters, digits and the like: nothing that could lead out of the folder, hide in it or break what lists it.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && name.front() != '.' &&
         name.find_first_of("/\\ \t\n") == std::string_view::npos && printable(name) == name;
}

bool is_plain_path(std::string_view path) {
  const auto parts = split(path, '/');
  return parts.size() <= kMaxParts && std::all_of(parts.begin(), parts.end(), is_plain_name);
}

Error no_name(std::string_view what, std::string_view name) {
  return {.kind = ErrorKind::usage,
          .message = fmt::format("'{}' is no name of a {}", printable(name.substr(0, 128)), what)};
}

}  // namespace

Result<RunCopies::Outcome> RunCopies::append_to(const fs::path& path, std::uint64_t offset, std::string_view bytes) {
  ASSAY_CHECK(make_folders(path.parent_path()));
  ASSAY_TRY(const auto file, open_file(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0640));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0)
    return Error{.kind = ErrorKind::io, .message = "cannot look at " + path.string()};
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (offset != size) return Outcome{.size = size, .taken = false};
  if (size + bytes.size() > kMaxFileBytes) {
    return Error{.kind = ErrorKind::busy, .message = "the file would be larger than 4 GiB"};
  }
  if (auto written = write_all(file.get(), bytes); !written) {
    // A part of it may be there: what was acknowledged is not touched.
    if (::ftruncate(file.get(), info.st_size) != 0)
      return std::move(written).error().within("cutting " + path.string());
    return std::move(written).error();
  }
  if (::fdatasync(file.get()) != 0) return Error{.kind = ErrorKind::io, .message = "cannot sync " + path.string()};
  return Outcome{.size = size + bytes.size(), .taken = true};
}

Result<RunCopies::Outcome> RunCopies::append(std::string_view node, std::string_view run, std::string_view file,
                                             std::uint64_t offset, std::string_view bytes) {
  if (!is_plain_name(run)) return no_name("run", run);
  if (!is_plain_path(file)) return no_name("file", file);
  const std::lock_guard lock(mutex_);
  const fs::path copy = folder_ / node / run;
  std::error_code code;
  if (!fs::exists(copy, code)) {
    const auto under_way = std::distance(fs::directory_iterator(folder_ / node, code), fs::directory_iterator());
    if (under_way >= kMaxRunsPerNode) {
      return Error{.kind = ErrorKind::busy,
                   .message = fmt::format("{} runs of '{}' are not complete yet", under_way, node)};
    }
  }
  ASSAY_TRY(const auto outcome, append_to(copy / file, offset, bytes));
  if (file != "run.json") return outcome;
  // Also where nothing was new: it may have been complete before, but could not be handed over.
  const auto record = read_file(copy / "run.json", kMaxRunJson);
  if (!record || !parse_json(*record)) return outcome;
  ASSAY_CHECK(publish_(std::string(run), copy).within(fmt::format("taking over run '{}' of node '{}'", run, node)));
  return Outcome{.size = outcome.size, .taken = true};
}

}  // namespace assay
