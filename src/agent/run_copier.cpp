#include "agent/run_copier.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/json.h"
#include "base/log.h"
#include "net/url.h"

namespace assay {
namespace {

/// Half of what servers take without being told.
constexpr std::size_t kPieceBytes = std::size_t{512} << 10;
/// How often the leader may correct us about one file in one go.
constexpr int kMostCorrections = 3;

bool is_plain_file(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(fs::symlink_status(path, code));
}

/// Without those that begin with a dot: a run that is only being made has such a folder.
std::vector<std::string> names_in(const fs::path& folder, bool want_folders) {
  std::vector<std::string> names;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    const auto status = fs::symlink_status(entry.path(), code);
    std::string name = entry.path().filename().string();
    if (name.starts_with('.')) continue;
    if (want_folders ? fs::is_directory(status) : fs::is_regular_file(status)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> read_piece(const fs::path& path, std::uint64_t offset) {
  ASSAY_TRY(const auto file, open_file(path, O_RDONLY | O_NOFOLLOW));
  std::string bytes(kPieceBytes, '\0');
  const ssize_t size = ::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
  if (size < 0) return system_error(errno, fmt::format("cannot read '{}'", path.string()));
  bytes.resize(static_cast<std::size_t>(size));
  return bytes;
}

}  // namespace

std::vector<std::string> recorded_files(const fs::path& run, bool whole) {
  std::vector<std::string> files;
  if (whole) {
    for (const auto& name : names_in(run / "artifacts", false)) files.push_back("artifacts/" + name);
    if (is_plain_file(run / "run.json")) files.emplace_back("run.json");
    return files;
  }
  if (is_plain_file(run / "journal")) files.emplace_back("journal");
  for (const auto& name : names_in(run / "ranks", false)) {
    if (name.ends_with(".journal")) files.push_back("ranks/" + name);
  }
  return files;
}

RunCopier::RunCopier(HttpClient& client, const LeaderAccess& access, std::string command, fs::path runs)
    : client_(client), access_(access), command_(std::move(command)), runs_(std::move(runs)) {}

bool RunCopier::complete() const {
  const auto runs = names_in(runs_, true);
  return std::all_of(runs.begin(), runs.end(), [this](const std::string& run) { return complete_.contains(run); });
}

Result<void> RunCopier::copy(bool ended) {
  for (const auto& run : names_in(runs_, true)) {
    for (const auto& file : recorded_files(runs_ / run, false)) ASSAY_CHECK(copy_wanted(run, file, ended));
    if (!ended) continue;
    for (const auto& file : recorded_files(runs_ / run, true)) ASSAY_CHECK(copy_wanted(run, file, ended));
  }
  return {};
}

Result<void> RunCopier::copy_wanted(const std::string& run, const std::string& file, bool ended) {
  if (complete_.contains(run) || unwanted_.contains(run + "/" + file)) return {};
  auto copied = copy_file(run, file, ended);
  if (copied) return {};
  const auto kind = copied.error().kind;
  if (kind != ErrorKind::not_found && kind != ErrorKind::usage) return copied;
  log_warning("the leader does not want '{}' of run '{}': {}", file, run, copied.error().text());
  unwanted_.insert(run + "/" + file);
  return {};
}

Result<void> RunCopier::copy_file(const std::string& run, const std::string& file, bool ended) {
  const std::string name = run + "/" + file;
  const bool known = arrived_.contains(name);
  std::uint64_t& arrived = arrived_[name];
  bool asked = known;
  for (int corrections = 0;;) {
    auto piece = read_piece(runs_ / run / file, arrived);
    // A file that is gone again was never part of the recording.
    if (!piece && piece.error().kind == ErrorKind::missing_file) return {};
    if (!piece) return std::move(piece).error();
    // An empty file is made there too, once it is known to stay empty.
    if (piece->empty() && (asked || !ended)) return {};
    const std::uint64_t expected = arrived + piece->size();
    ASSAY_TRY(const std::uint64_t has, post(run, file, arrived, std::move(*piece)));
    asked = true;
    if (complete_.contains(run)) return {};
    if (has != expected && ++corrections > kMostCorrections) {
      return Error{.kind = ErrorKind::busy, .message = fmt::format("the leader and we do not agree about '{}'", name)};
    }
    arrived = has;
  }
}

/// How many bytes the leader has then, whether or not it took these.
Result<std::uint64_t> RunCopier::post(const std::string& run, const std::string& file, std::uint64_t offset,
                                      std::string bytes) {
  auto request = agent_request(access_, "POST",
                               fmt::format("/agent/v1/runs/{}/files/{}?command={}&offset={}", percent_encode(run),
                                           percent_encode(file), percent_encode(command_), offset));
  request.headers.add("Content-Type", "application/octet-stream");
  request.body = std::move(bytes);
  ASSAY_TRY(const auto response, client_.send(std::move(request)));
  if (response.status != 200 && response.status != 409) return leader_error(response);
  ASSAY_TRY(const auto value, parse_json(response.body));
  JsonFields fields(value, "the leader's answer to a piece of a run");
  const auto size = fields.integer("size");
  if (size < 0) fields.fail("size", "is negative");
  const bool complete = fields.boolean_or("complete", false);
  // `bad_file` of an answer would look like one of ours.
  if (auto read = fields.finish(); !read) return Error{.kind = ErrorKind::io, .message = read.error().text()};
  if (complete) complete_.insert(run);
  return static_cast<std::uint64_t>(size);
}

}  // namespace assay
