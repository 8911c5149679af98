#include "launch/hosted/job_programs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/log.h"
#include "base/spawn.h"
#include "base/text.h"
#include "launch/hosted/folder_job.h"
#include "launch/hosted/job_host.h"
#include "launch/hosted/part_relay.h"

namespace assay {
namespace {

constexpr int kWrongUse = 2;
constexpr int kNotDone = 3;
// Between the start of a host and of the job's program: looking at the machine takes a second or two.
constexpr Nanos kHostPatience = std::chrono::seconds(60);
// Folders of jobs that ended are kept for whoever comes back for them.
constexpr Nanos kKeepEndedJobs = std::chrono::hours(24 * 3);
constexpr std::size_t kPutAhead = std::size_t{256} << 10;

Result<std::optional<Rendezvous>> parse_meeting(std::string_view text) {
  if (text == "-") return std::optional<Rendezvous>();
  Rendezvous meeting{.address = std::string(text)};
  // An IPv6 address has colons of its own, and is written in brackets where a port follows.
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || (text.find(':') != colon && text[colon - 1] != ']'))
    return std::optional(meeting);
  const auto port = text.substr(colon + 1);
  const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), meeting.port);
  if (problem != std::errc() || end != port.data() + port.size() || meeting.port < 0 || meeting.port > 65535) {
    return Error{.kind = ErrorKind::usage, .message = fmt::format("'{}' is not an address with a port", text)};
  }
  meeting.address = text.substr(0, colon);
  if (meeting.address.starts_with('[') && meeting.address.ends_with(']')) {
    meeting.address = meeting.address.substr(1, meeting.address.size() - 2);
  }
  return std::optional(meeting);
}

/// Each part of a job has a folder of its own, since hosts may share their home folders. The first one's is the job's.
Result<JobFolder> folder_of(std::string_view id, PartOfJob part) {
  if (is_file_name(id)) {
    return JobFolder(jobs_root() / (part.number == 0 ? std::string(id) : fmt::format("{}.{}", id, part.number)));
  }
  return Error{.kind = ErrorKind::usage, .message = fmt::format("'{}' is not the id of a job", printable(id))};
}

Result<int> host_program(const std::vector<std::string>& words, const HostServices& services) {
  ASSAY_TRY(const auto part, parse_part(words[1]));
  ASSAY_TRY(const auto meeting, parse_meeting(words[2]));
  const JobFolder folder(words[0]);
  HostOptions options{.part = part,
                      .rendezvous = meeting,
                      .describe_machine = services.describe_machine,
                      .watch = services.watch,
                      .stop_fd = services.stop_fd,
                      .extra_time = services.extra_time};
  std::optional<PartRelay> relay;
  if (words.size() > 3 && words[3] == "relay") {
    relay.emplace(folder, part.number, PerStream<std::uint64_t>());
    options.on_look = [&relay] {
      std::string lines;
      // Until there is nothing new: after the ending nobody looks again.
      do {
        lines.clear();
        if (!relay->step(lines, kPutAhead) || !write_all(STDOUT_FILENO, lines)) return;
      } while (!lines.empty());
    };
  }
  const auto launcher = services.make_launcher();
  return exit_code_for(host_job(folder, options, *launcher, SystemClock()));
}

/// Takes order and files from standard input into the folder.
class JobIntake {
 public:
  explicit JobIntake(const JobFolder& folder) : folder_(folder), files_(folder.scratch()) {}

  Result<void> take_all() {
    RelayReader reader([this](const RelayFrame& frame) { return take(frame); });
    std::array<char, 65536> buffer;
    while (!complete_) {
      const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return Error{.kind = ErrorKind::io, .message = "the job did not arrive whole"};
      ASSAY_CHECK(reader.take({buffer.data(), static_cast<std::size_t>(got)}));
    }
    if (!job_) return Error{.kind = ErrorKind::bad_file, .message = "files came, but no order"};
    return folder_.place(*job_);
  }
  bool has_reserved() const { return reserved_; }

 private:
  Result<void> take(const RelayFrame& frame) {
    if (frame.kind == RelayKind::order) {
      ASSAY_TRY(job_, read_order(frame.payload));
      ASSAY_CHECK(folder_.reserve(job_->token));
      reserved_ = true;
    } else if (!reserved_) {
      return Error{.kind = ErrorKind::bad_file, .message = "the order has to come first"};
    } else if (frame.kind == RelayKind::file) {
      return files_.begin(frame.payload);
    } else if (frame.kind == RelayKind::bytes) {
      return files_.add(frame);
    }
    complete_ = frame.kind == RelayKind::complete;
    return {};
  }

  const JobFolder& folder_;
  FileReceiver files_;
  std::optional<Job> job_;
  bool reserved_ = false;
  bool complete_ = false;
};

/// A host in a session of its own: neither a closed terminal nor the end of the ssh that we run under ends it.
Result<void> leave_host(const JobFolder& folder, const std::vector<std::string>& words, const HostServices& services) {
  ASSAY_TRY(const auto nothing, open_file("/dev/null", O_RDWR));
  ASSAY_TRY(const auto log, open_file(folder.path() / "host.log", O_WRONLY | O_CREAT | O_APPEND, 0600));
  ASSAY_TRY(auto environment, merged_environment({}));
  ASSAY_TRY(
      [[maybe_unused]] const pid_t host,
      spawn({.arguments = {services.self.string(), kHostJobArgument, folder.path().string(), words[1], words[2]},
             .environment = std::move(environment),
             .descriptors = {{nothing.get(), STDIN_FILENO}, {nothing.get(), STDOUT_FILENO}, {log.get(), STDERR_FILENO}},
             .own_session = true}));
  return {};
}

Result<int> take_program(const std::vector<std::string>& words, const HostServices& services) {
  ASSAY_TRY(const auto part, parse_part(words[1]));
  ASSAY_TRY(const auto folder, folder_of(words[0], part));
  ASSAY_TRY([[maybe_unused]] const auto meeting, parse_meeting(words[2]));
  remove_old_jobs(jobs_root(), kKeepEndedJobs);
  JobIntake intake(folder);
  const auto begun = [&]() -> Result<void> {
    ASSAY_CHECK(intake.take_all());
    ASSAY_CHECK(leave_host(folder, words, services));
    return await_part(folder, part.number, SystemClock().now() + kHostPatience);
  }();
  if (!begun) {
    std::error_code code;
    if (intake.has_reserved()) fs::remove_all(folder.path(), code);
    return begun.error();
  }
  ASSAY_TRY(const auto host, folder.read_host(part.number));
  const auto answer =
      relay_lines({.kind = RelayKind::host, .payload = json::serialize(host ? to_json(*host) : json::object())});
  ASSAY_CHECK(write_all(STDOUT_FILENO, answer));
  return 0;
}

Result<int> follow_program(const std::vector<std::string>& words) {
  ASSAY_TRY(const auto part, parse_part(words[1]));
  ASSAY_TRY(const auto folder, folder_of(words[0], part));
  PerStream<std::uint64_t> from;
  const auto offsets = split(words[2], ',');
  for (std::size_t i = 0; i < kJobStreams.size(); ++i) {
    const auto text = i < offsets.size() ? offsets[i] : std::string_view();
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), from.values[i]);
    if (problem != std::errc() || end != text.data() + text.size() || offsets.size() != kJobStreams.size()) {
      return Error{.kind = ErrorKind::usage,
                   .message = fmt::format("'{}' are not {} offsets", words[2], kJobStreams.size())};
    }
  }
  // It says itself to its owner what went wrong.
  return relay_to_owner(folder, part.number, from, STDIN_FILENO, STDOUT_FILENO) ? 0 : kNotDone;
}

}  // namespace

std::string offsets_text(const PerStream<std::uint64_t>& offsets) {
  return fmt::format("{}", fmt::join(offsets.values, ","));
}

fs::path jobs_root() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/') return fs::path(cache) / "assay/jobs";
  const char* home = std::getenv("HOME");
  return fs::path(home ? home : "/tmp") / ".cache/assay/jobs";
}

bool is_job_program(std::string_view argument) {
  return argument == kHostJobArgument || argument == kTakeJobArgument || argument == kFollowJobArgument;
}

int job_program_main(int argc, char** argv, const HostServices& services) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const std::vector<std::string> words(argv + std::min(argc, 2), argv + argc);
  if (!is_job_program(what) || words.size() < 3) {
    std::fprintf(stderr, "assay: this is for launchers to call\n");
    return kWrongUse;
  }
  auto code = what == kHostJobArgument   ? host_program(words, services)
              : what == kTakeJobArgument ? take_program(words, services)
                                         : follow_program(words);
  if (code) return *code;
  if (what == kTakeJobArgument) (void)write_all(STDOUT_FILENO, problem_lines(code.error())).ok();
  std::fprintf(stderr, "assay: %s\n", code.error().text().c_str());
  return kNotDone;
}

}  // namespace assay
