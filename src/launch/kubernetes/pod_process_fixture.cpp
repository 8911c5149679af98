#include "launch/kubernetes/pod_process_fixture.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/spawn.h"
#include "launch/kubernetes/kube_object.h"
#include "launch/kubernetes/manifests.h"
#include "net/response_stream.h"

namespace assay {
namespace {

constexpr std::size_t kLogPiece = std::size_t{4} << 20;

}  // namespace

Result<void> PodProcess::start(const std::vector<std::string>& command, std::string_view order,
                               const std::map<std::string, std::string>& environment) {
  ASSAY_CHECK(make_folders(folder_ / "order"));
  ASSAY_CHECK(write_file_atomically(folder_ / "order" / kOrderKey, order));
  ASSAY_TRY(const auto log, open_file(folder_ / "log", O_WRONLY | O_CREAT | O_APPEND));
  ASSAY_TRY(const auto nothing, open_file("/dev/null", O_RDONLY));
  ASSAY_TRY(auto variables, merged_environment(environment));
  ASSAY_TRY(pid_, spawn({.arguments = command,
                         .environment = std::move(variables),
                         .folder = {},
                         .descriptors = {{nothing.get(), 0}, {log.get(), 1}, {log.get(), 2}},
                         .own_session = true}));
  return {};
}

void PodProcess::terminate(Nanos grace) {
  if (!started() || ended_) return;
  if (!std::exchange(terminated_, true)) ::kill(pid_, SIGTERM);
  const SteadyTime at = SystemClock().now() + grace;
  kill_at_ = std::min(kill_at_.value_or(at), at);
}

void PodProcess::kill() {
  if (!started() || std::exchange(ended_, true)) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::optional<int> PodProcess::look() {
  if (!started() || ended_) return std::nullopt;
  if (kill_at_ && SystemClock().now() > *kill_at_) ::kill(pid_, SIGKILL);
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  ended_ = true;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void PodProcess::throw_log_away() {
  std::error_code code;
  const auto size = fs::file_size(folder_ / "log", code);
  if (!code) thrown_away_ = size;
}

std::string PodProcess::log_from(std::size_t offset) const {
  const auto file = open_file(folder_ / "log", O_RDONLY);
  if (!file) return {};
  std::string piece(kLogPiece, '\0');
  const ssize_t got = ::pread(file->get(), piece.data(), piece.size(), static_cast<off_t>(offset));
  piece.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return piece;
}

std::shared_ptr<ResponseStream> FollowedLogs::follow(std::shared_ptr<const PodProcess> process) {
  auto stream =
      std::make_shared<ResponseStream>(ResponseStream::Options{.queue_bytes = std::size_t{256} << 20, .heartbeat = {}});
  const std::size_t from = process->thrown_away();
  followers_.push_back({stream, std::move(process), from});
  return stream;
}

void FollowedLogs::feed() {
  std::erase_if(followers_, [](Follower& follower) {
    const bool ended = follower.process->ended();
    std::string piece;
    while (!(piece = follower.process->log_from(follower.sent)).empty()) {
      follower.stream->write(piece);
      follower.sent += piece.size();
    }
    if (ended) follower.stream->finish();
    return ended || !follower.stream->open();
  });
}

bool FollowedLogs::is_followed(const PodProcess& process) const {
  return std::any_of(followers_.begin(), followers_.end(),
                     [&](const Follower& follower) { return follower.process.get() == &process; });
}

void FollowedLogs::cut() {
  for (const auto& follower : followers_) follower.stream->finish();
  followers_.clear();
}

std::vector<std::string> command_of_pod(const json::object& pod, const fs::path& program, const fs::path& folder,
                                        int meeting_port) {
  std::vector<std::string> command;
  for (const auto& word : kube_array(kube_array(pod, {"spec", "containers"}).front(), {"command"})) {
    command.emplace_back(word.get_string());
  }
  const std::string index = kube_text(pod, {"metadata", "annotations", "batch.kubernetes.io/job-completion-index"});
  command[0] = program.string();
  command[2] = (folder / "order").string();
  command[3] = folder.string();
  if (const auto at = command[4].find('/'); command[4].starts_with("$")) command[4] = index + command[4].substr(at);
  // The port of the manifest may be somebody else's here.
  if (command[5] != "-") command[5] = fmt::format("127.0.0.1:{}", meeting_port);
  return command;
}

}  // namespace assay
