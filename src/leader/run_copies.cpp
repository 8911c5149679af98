#include "leader/run_copies.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "model/run.h"

namespace assay {
namespace {

constexpr std::size_t kMaxRunJson = std::size_t{64} << 20;
/// A study of all combinations of many settings; nobody asks for more in one go.
constexpr std::size_t kMaxRunsPerCommand = 4096;
/// As base/ids.h makes them.
constexpr std::size_t kIdLength = 10;

/// Stricter than a file name: ids are also words on a command line, where `@last` and `-rf` mean something else.
bool is_run_id(std::string_view text) {
  return text.size() == kIdLength &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); });
}

/// The files of a recording, and nothing else: a folder in the place of one of them would spoil the run.
bool is_recorded_file(std::string_view path) {
  if (path == "run.json" || path == "journal") return true;
  const auto parts = split(path, '/');
  if (parts.size() != 2 || !is_file_name(parts[1])) return false;
  return parts[0] == "artifacts" || (parts[0] == "ranks" && parts[1].ends_with(".journal"));
}

Error wrong_piece(std::string message) { return {.kind = ErrorKind::usage, .message = std::move(message)}; }

Result<void> check_names(const RunPiece& piece) {
  if (!is_run_id(piece.run)) {
    return wrong_piece(fmt::format("'{}' is no id of a run", printable(piece.run.substr(0, 128))));
  }
  if (!is_recorded_file(piece.file)) {
    return wrong_piece(
        fmt::format("'{}' is no file of a run: those are journal, ranks/NAME.journal, artifacts/NAME and "
                    "run.json, with names of 1 to 128 bytes and no dot in front",
                    printable(piece.file.substr(0, 128))));
  }
  return {};
}

}  // namespace

RunCopies::RunCopies(fs::path folder, ClusterStore& cluster, const Clock& clock, Publish publish, Limits limits)
    : folder_(std::move(folder)), cluster_(cluster), clock_(clock), publish_(std::move(publish)), limits_(limits) {
  std::error_code code;
  for (const auto& node : fs::directory_iterator(folder_, code)) {
    for (const auto& run : fs::directory_iterator(node.path(), code)) {
      copies_[node.path().filename()][run.path().filename()] = look_at(run.path());
    }
  }
}

RunCopies::Copy RunCopies::look_at(const fs::path& folder) {
  Copy copy;
  std::error_code code;
  for (fs::recursive_directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    struct stat info{};
    if (::lstat(entry->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    ++copy.files;
    copy.bytes += static_cast<std::uint64_t>(info.st_size);
    copy.last = std::max(copy.last, WallTime(std::chrono::seconds(info.st_mtim.tv_sec)));
  }
  return copy;
}

Result<void> RunCopies::expect(std::string_view command, std::string_view node) {
  ASSAY_CHECK(cluster_.run_commands().put(
      {.row = {.id = std::string(command), .node = std::string(node), .created = clock_.wall()}}));
  return {};
}

Result<Stored<RunCommand>> RunCopies::command_of(const RunPiece& piece) {
  auto command = cluster_.run_commands().find(piece.command);
  if (!command && command.error().kind != ErrorKind::not_found) return command;
  if (!command || command->row.node != piece.node) {
    return Error{.kind = ErrorKind::not_found,
                 .message = fmt::format("no command '{}' asked node '{}' for a run",
                                        printable(piece.command.substr(0, 128)), piece.node)};
  }
  return command;
}

Result<void> RunCopies::check_room(const RunPiece& piece) {
  const std::uint64_t most = piece.file == "run.json" ? kMaxRunJson : limits_.file_bytes;
  if (piece.offset > most || piece.bytes.size() > most - piece.offset) {
    return wrong_piece(fmt::format("'{}' would be larger than {} MiB", piece.file, most >> 20));
  }
  const auto& copies = copies_[std::string(piece.node)];
  const auto copy = copies.find(piece.run);
  if (copy == copies.end() && copies.size() >= limits_.runs) {
    return Error{.kind = ErrorKind::busy,
                 .message = fmt::format("{} runs of '{}' are not complete yet", copies.size(), piece.node)};
  }
  std::error_code code;
  if (copy != copies.end() && copy->second.files >= limits_.files && !fs::exists(folder_of(piece) / piece.file, code)) {
    return wrong_piece(fmt::format("run '{}' has more than {} files", piece.run, limits_.files));
  }
  std::uint64_t bytes = piece.bytes.size();
  for (const auto& [run, other] : copies) bytes += other.bytes;
  if (bytes > limits_.node_bytes) {
    return Error{.kind = ErrorKind::busy,
                 .message = fmt::format("the runs of '{}' that are not complete yet would have more than {} MiB",
                                        piece.node, limits_.node_bytes >> 20)};
  }
  return {};
}

Result<RunCopies::Outcome> RunCopies::append_to_file(const RunPiece& piece) {
  const fs::path path = folder_of(piece) / piece.file;
  ASSAY_CHECK(make_folders(path.parent_path()));
  std::error_code code;
  const bool is_new = !fs::exists(path, code);
  ASSAY_TRY(const auto file, open_file(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0640));
  Copy& copy = copies_[std::string(piece.node)][std::string(piece.run)];
  copy.last = clock_.wall();
  if (is_new) ++copy.files;
  struct stat info{};
  if (::fstat(file.get(), &info) != 0)
    return Error{.kind = ErrorKind::io, .message = "cannot look at " + path.string()};
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (piece.offset != size) return Outcome{.size = size};
  if (auto written = write_all(file.get(), piece.bytes); !written) {
    // A part of it may be there: what was acknowledged is not touched.
    if (::ftruncate(file.get(), info.st_size) != 0)
      return std::move(written).error().within("cutting " + path.string());
    return std::move(written).error();
  }
  if (::fdatasync(file.get()) != 0) return Error{.kind = ErrorKind::io, .message = "cannot sync " + path.string()};
  copy.bytes += piece.bytes.size();
  return Outcome{.size = size + piece.bytes.size(), .taken = true};
}

Result<RunCopies::Outcome> RunCopies::append(const RunPiece& piece) {
  ASSAY_CHECK(check_names(piece));
  const std::lock_guard lock(mutex_);
  ASSAY_TRY(auto command, command_of(piece));
  const auto& runs = command.row.runs;
  if (std::find(runs.begin(), runs.end(), piece.run) != runs.end()) {
    // An answer was lost, and the agent sends again what has its place already.
    drop(piece);
    return Outcome{.size = piece.offset + piece.bytes.size(), .taken = true, .complete = true};
  }
  if (runs.size() >= kMaxRunsPerCommand) {
    return wrong_piece(fmt::format("command '{}' has brought {} runs already", piece.command, runs.size()));
  }
  ASSAY_CHECK(check_room(piece));
  auto outcome = append_to_file(piece);
  // What goes wrong with our files is no fault of the piece.
  if (!outcome) outcome.error().kind = ErrorKind::io;
  if (!outcome || piece.file != "run.json") return outcome;
  return hand_over(piece, *outcome, std::move(command));
}

/// Also where nothing of run.json was new: it may have been complete before, but could not be handed over.
Result<RunCopies::Outcome> RunCopies::hand_over(const RunPiece& piece, const Outcome& outcome,
                                                Stored<RunCommand> command) {
  const fs::path copy = folder_of(piece);
  const std::string doing = fmt::format("taking over run '{}' of node '{}'", piece.run, piece.node);
  auto record = read_file(copy / "run.json", kMaxRunJson);
  if (!record) return Error{.kind = ErrorKind::io, .message = record.error().text()}.within(doing);
  const auto value = parse_json(*record);
  if (!value) return outcome;
  const auto run = run_from_json(*value);
  if (!run || run->id != piece.run) {
    drop(piece);
    return wrong_piece(run ? fmt::format("run.json is that of run '{}'", printable(run->id)) : run.error().text())
        .within(doing);
  }
  if (auto published = publish_(run->id, copy).within(doing); !published) {
    if (published.error().kind == ErrorKind::usage) {
      drop(piece);
    } else {
      published.error().kind = ErrorKind::io;
    }
    return std::move(published).error();
  }
  command.row.runs.emplace_back(piece.run);
  if (auto noted = cluster_.run_commands().put(command); !noted) {
    return Error{.kind = ErrorKind::io, .message = noted.error().text()}.within(doing);
  }
  drop(piece);
  log_info("Run {} came from node {}.", piece.run, piece.node);
  return Outcome{.size = outcome.size, .taken = true, .complete = true};
}

void RunCopies::drop(const RunPiece& piece) {
  std::error_code ignored;
  fs::remove_all(folder_of(piece), ignored);
  copies_[std::string(piece.node)].erase(std::string(piece.run));
}

Result<void> RunCopies::forget_stale() {
  const std::lock_guard lock(mutex_);
  for (auto& [node, copies] : copies_) {
    std::erase_if(copies, [&, &node = node](const auto& entry) {
      if (entry.second.last + kKeepCopies > clock_.wall()) return false;
      log_warning("The copy of run '{}' of node '{}' was never completed and is removed.", entry.first, node);
      std::error_code ignored;
      fs::remove_all(folder_ / node / entry.first, ignored);
      return true;
    });
  }
  return cluster_.run_commands().forget_before(clock_.wall() - kKeepCommands + Nanos(1));
}

}  // namespace assay
