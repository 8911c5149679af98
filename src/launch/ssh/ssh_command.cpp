#include "launch/ssh/ssh_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace assay {
namespace {

/// What OpenSSH prints, and what that means to a user.
struct SshSaying {
  std::string_view words;
  ErrorKind kind;
  std::string_view hint;  ///< {} is the host
};
constexpr std::array kSshSayings = {
    SshSaying{"IDENTIFICATION HAS CHANGED", ErrorKind::denied,
              "Its host key is not the one in your known_hosts. If it was installed anew, forget the old key with "
              "`ssh-keygen -R {0}` and log in once by hand; if not, somebody else answers under its name."},
    SshSaying{
        "Host key verification failed", ErrorKind::denied,
        "Its host key is not in your known_hosts. Log in once by hand (`ssh {0}`), compare the fingerprint with its "
        "administrator's, and accept it."},
    SshSaying{
        "Permission denied", ErrorKind::denied,
        "assay never asks for a password: `ssh -o BatchMode=yes {0} true` has to work. Load your key with ssh-add, "
        "or name it in ~/.ssh/config."},
    SshSaying{"Could not resolve hostname", ErrorKind::unreachable,
              "Write the name as `ssh` knows it: a Host of ~/.ssh/config or a name of the network."},
    SshSaying{"Connection refused", ErrorKind::unreachable,
              "Does its sshd run, and on that port? `ssh -v {0}` says more."},
    SshSaying{"timed out", ErrorKind::unreachable,
              "Is it up, and may it be reached from here? `ssh -v {0}` says more."},
};

/// The line that says what went wrong; banners and warnings come before it.
std::string last_line(std::string_view text) {
  std::string last;
  for (const auto line : split(text, '\n')) {
    if (!trim(line).empty()) last = std::string(trim(line));
  }
  return printable(last);
}

}  // namespace

std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

Result<void> check_host(std::string_view host) {
  const bool odd = host.empty() || host.starts_with('-') ||
                   std::any_of(host.begin(), host.end(), [](char c) { return static_cast<unsigned char>(c) <= ' '; });
  if (!odd) return {};
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("'{}' is not the name of a host", printable(host)),
               .hint = "Write it as for `ssh`: gpu03, or me@gpu03."};
}

std::vector<std::string> ssh_arguments(const SshSettings& settings, const fs::path& control, std::string_view host) {
  const auto seconds =
      std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(settings.connect_timeout).count());
  std::vector<std::string> arguments = {settings.program};
  if (!settings.config.empty()) {
    arguments.push_back("-F");
    arguments.push_back(settings.config.string());
  }
  for (const auto& option :
       {std::string("BatchMode=yes"), std::string("StrictHostKeyChecking=yes"),
        fmt::format("ConnectTimeout={}", seconds), std::string("ServerAliveInterval=10"),
        std::string("ServerAliveCountMax=3"), std::string("ControlPersist=no"),
        fmt::format("ControlPath={}", control.empty() ? "none" : control.string()), std::string("EscapeChar=none"),
        std::string("ForwardX11=no"), std::string("ForwardAgent=no"), std::string("ClearAllForwardings=yes"),
        std::string("PermitLocalCommand=no"), std::string("RequestTTY=no"), std::string("RemoteCommand=none")}) {
    arguments.push_back("-o");
    arguments.push_back(option);
  }
  arguments.push_back("--");
  arguments.emplace_back(host);
  return arguments;
}

Error ssh_error(std::string_view host, std::string_view said) {
  auto line = last_line(said);
  // Some of its words begin with its name, as ours do.
  if (line.starts_with("ssh: ")) line.erase(0, 5);
  for (const auto& saying : kSshSayings) {
    if (said.find(saying.words) == std::string_view::npos) continue;
    return {.kind = saying.kind,
            .message = fmt::format("{}: ssh: {}", host, line),
            .hint = fmt::format(fmt::runtime(saying.hint), host)};
  }
  return {.kind = ErrorKind::unreachable,
          .message = fmt::format("{}: ssh: {}", host, line.empty() ? "the connection was closed" : line),
          .hint = fmt::format("`ssh -v {}` says more.", host)};
}

}  // namespace assay
