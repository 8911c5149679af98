#include "launch/kubernetes/pod_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "base/byte_stream.h"
#include "base/log.h"
#include "launch/hosted/folder_part.h"
#include "launch/hosted/job_host.h"
#include "launch/hosted/relay_line.h"
#include "launch/kubernetes/manifests.h"
#include "launch/kubernetes/pod_order.h"

namespace assay {
namespace {

/// A line at least this often, so that whoever follows the log can tell a quiet job from a dead connection.
constexpr Nanos kSignOfLife = std::chrono::seconds(20);
/// Logs are no place for more.
constexpr std::uintmax_t kMostArtifactBytes = std::uintmax_t{64} << 20;

constexpr int kWrongUse = 2;

/// ADDRESS:PORT; nothing for anything else.
std::optional<Rendezvous> meeting_from(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  Rendezvous meeting{.address = std::string(text.substr(0, colon))};
  const auto port = text.substr(colon + 1);
  const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), meeting.port);
  const bool fine = problem == std::errc() && end == port.data() + port.size() && meeting.port > 0;
  return fine ? std::optional(std::move(meeting)) : std::nullopt;
}

RelayKind kind_of(JobStream stream) { return static_cast<RelayKind>(stream); }

/// Writes what is new in a job's folder to the log. One thread.
class LogRelay {
 public:
  LogRelay(const JobFolder& folder, std::int64_t part, int fd, const Clock& clock)
      : folder_(folder), part_(folder, {.number = part}), fd_(fd), clock_(clock), last_line_(clock.now()) {}

  void look() {
    part_.look();
    if (!told_host_ && part_.host()) {
      told_host_ = true;
      say({.kind = RelayKind::host, .offset = 0, .payload = json::serialize(to_json(*part_.host()))});
    }
    for (const auto stream : kJobStreams) pass_on(stream);
    if (clock_.now() - last_line_ > kSignOfLife) say({.kind = RelayKind::alive, .offset = 0, .payload = {}});
  }

  /// All that is left, then the ending.
  void finish(const PartEnding& ending) {
    look();
    send_artifacts();
    say({.kind = RelayKind::ending, .offset = 0, .payload = json::serialize(to_json(ending))});
  }

 private:
  void pass_on(JobStream stream) {
    std::array<char, std::size_t{64} << 10> buffer;
    while (true) {
      const std::uint64_t at = part_.position(stream);
      const std::size_t got = part_.read(stream, buffer);
      if (got > 0) {
        say({.kind = kind_of(stream), .offset = at, .payload = std::string(buffer.data(), got)});
      } else if (part_.look(); !part_.has_bytes(stream)) {
        return;
      }
    }
  }

  void send_artifacts() {
    std::error_code code;
    std::uintmax_t sent = 0;
    fs::directory_iterator entry(folder_.artifacts(), code);
    for (; !code && entry != fs::directory_iterator(); entry.increment(code)) {
      if (!entry->is_regular_file(code)) continue;
      const auto size = entry->file_size(code);
      json::object record{{"path", entry->path().filename().string()}, {"size", size}};
      sent += size;
      const bool fits = sent <= kMostArtifactBytes;
      if (!fits) record["left_out"] = true;
      say({.kind = RelayKind::file, .offset = 0, .payload = json::serialize(record)});
      if (fits) send_file(entry->path());
    }
  }

  void send_file(const fs::path& path) {
    const auto source = file_source(path);
    std::uint64_t at = 0;
    while (source) {
      auto piece = (*source)->next();
      if (!piece || !*piece) return;
      const std::size_t size = (*piece)->size();
      say({.kind = RelayKind::bytes, .offset = at, .payload = std::move(**piece)});
      at += size;
    }
  }

  void say(const RelayFrame& frame) {
    if (auto written = write_all(fd_, relay_lines(frame)); !written) log_error("{}", written.error().text());
    last_line_ = clock_.now();
  }

  const JobFolder& folder_;
  FolderPart part_;
  const int fd_;
  const Clock& clock_;
  SteadyTime last_line_;
  bool told_host_ = false;
};

}  // namespace

PartEnding host_pod(const PodHostOptions& options, Launcher& local, const Clock& clock) {
  const JobFolder folder(options.folder / "job");
  LogRelay relay(folder, options.part.number, options.out_fd, clock);
  const auto hosted = [&]() -> PartEnding {
    ASSAY_TRY(const auto order, read_file(options.order / kOrderKey, 2 * kLargestSecret));
    ASSAY_CHECK(unpack_pod_order(order, options.folder));
    HostOptions host{.part = options.part,
                     .rendezvous = options.rendezvous,
                     .describe_machine = options.describe_machine,
                     .watch = options.watch,
                     .stop_fd = options.stop_fd,
                     .on_look = [&] { relay.look(); },
                     .extra_time = options.extra_time};
    return host_job(folder, host, local, clock);
  };
  const PartEnding ending = hosted();
  relay.finish(ending);
  return ending;
}

int host_pod_main(int argc, char** argv, const HostServices& services) {
  const std::vector<std::string> words(argv + std::min(argc, 2), argv + argc);
  const auto part = words.size() == 4 ? parse_part(words[2]) : Error{.kind = ErrorKind::usage, .message = "four words"};
  const auto meeting = words.size() == 4 ? meeting_from(words[3]) : std::nullopt;
  if (!part || (part->of > 1 && !meeting)) {
    std::fprintf(stderr, "assay: this is for pods that the launcher for Kubernetes makes\n");
    return kWrongUse;
  }
  const auto local = services.make_launcher();
  const auto ending = host_pod({.order = words[0],
                                .folder = words[1],
                                .part = *part,
                                .rendezvous = meeting,
                                .stop_fd = services.stop_fd,
                                .describe_machine = services.describe_machine,
                                .watch = services.watch},
                               *local, SystemClock());
  if (!ending) std::fprintf(stderr, "assay: %s\n", ending.error().text().c_str());
  return exit_code_for(ending);
}

}  // namespace assay
