#include "launch/ssh/ssh_child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/spawn.h"

namespace assay {
namespace {

constexpr std::size_t kMostSaid = 8192;

}  // namespace

Result<SshChild> SshChild::start(const std::vector<std::string>& arguments) {
  ASSAY_TRY(auto in, make_pipe());
  ASSAY_TRY(auto out, make_pipe());
  ASSAY_TRY(auto error, make_pipe());
  ASSAY_TRY(auto environment, merged_environment({}));
  SshChild child;
  // A session of its own: Ctrl-C is ours to pass on as a wish, and no terminal is there to ask for a password.
  ASSAY_TRY(child.pid_, spawn({.arguments = arguments,
                               .environment = std::move(environment),
                               .descriptors = {{in.read_end.get(), STDIN_FILENO},
                                               {out.write_end.get(), STDOUT_FILENO},
                                               {error.write_end.get(), STDERR_FILENO}},
                               .own_session = true}));
  child.in_ = std::move(in.write_end);
  child.out_ = std::move(out.read_end);
  child.error_ = std::move(error.read_end);
  for (const int fd : {child.in_.get(), child.out_.get(), child.error_.get()}) ASSAY_CHECK(make_non_blocking(fd));
  return child;
}

SshChild::SshChild(SshChild&& other) noexcept
    : in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      error_(std::move(other.error_)),
      pid_(std::exchange(other.pid_, -1)),
      said_(std::move(other.said_)) {}

SshChild::~SshChild() {
  if (pid_ <= 0) return;
  // It has nothing to clean up, and one that waits for a dead machine would not listen to less.
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

const std::string& SshChild::said() {
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; (got = ::read(error_.get(), buffer.data(), buffer.size())) > 0;) {
    said_.append(buffer.data(), static_cast<std::size_t>(got));
    if (said_.size() > kMostSaid) said_.erase(0, said_.size() - kMostSaid);
  }
  return said_;
}

}  // namespace assay
