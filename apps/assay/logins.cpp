#include "logins.h"

#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <csignal>

#include "access/secrets.h"
#include "base/json.h"
#include "base/text.h"

namespace assay {
namespace {

std::string variable(const Context& context, const std::string& name) {
  const auto found = context.environment.find(name);
  return found == context.environment.end() ? "" : found->second;
}

/// https://gpu.example.org:8470/ and the same without the slash are one leader.
std::string_view without_slash(std::string_view url) {
  while (url.ends_with('/')) url.remove_suffix(1);
  return url;
}

/// A line, byte by byte: what follows it is somebody else's.
Result<std::string> read_line() {
  std::string line;
  char byte = 0;
  while (line.size() < 4096 && ::read(STDIN_FILENO, &byte, 1) == 1) {
    if (byte == '\n') return line;
    line += byte;
  }
  if (!line.empty()) return line;
  return Error{.kind = ErrorKind::usage, .message = "nothing was typed"};
}

constexpr std::array kEndingSignals = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/// What the terminal was like before typing was hidden; for a signal handler.
termios terminal_before{};

void show_typing_and_end(int signal) {
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &terminal_before);
  // Taken once this returns, by what the signal does without a handler.
  ::raise(signal);
}

/// Shows what is typed again when it goes away, also by Ctrl-C. One at a time.
class HiddenInput {
 public:
  HiddenInput() {
    if (::tcgetattr(STDIN_FILENO, &terminal_before) != 0) return;
    changed_ = true;
    struct sigaction showing{};
    showing.sa_handler = show_typing_and_end;
    showing.sa_flags = static_cast<int>(SA_RESETHAND);
    for (std::size_t i = 0; i < kEndingSignals.size(); ++i) ::sigaction(kEndingSignals[i], &showing, &handlers_[i]);
    termios hidden = terminal_before;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
  }
  HiddenInput(const HiddenInput&) = delete;
  HiddenInput& operator=(const HiddenInput&) = delete;
  ~HiddenInput() {
    if (!changed_) return;
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &terminal_before);
    for (std::size_t i = 0; i < kEndingSignals.size(); ++i) ::sigaction(kEndingSignals[i], &handlers_[i], nullptr);
    print_error("\n");
  }

 private:
  std::array<struct sigaction, kEndingSignals.size()> handlers_{};
  bool changed_ = false;  ///< the signals, and the terminal if it let itself be changed
};

}  // namespace

fs::path login_file(const Context& context, std::string_view url) {
  const std::string config = variable(context, "XDG_CONFIG_HOME");
  const fs::path folder = config.empty() ? fs::path(variable(context, "HOME")) / ".config" : fs::path(config);
  std::string name(without_slash(url));
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  return folder / "assay" / "logins" / (name + ".json");
}

Result<std::optional<Login>> find_login(const Context& context, std::string_view url) {
  auto text = read_secret_file(login_file(context, url));
  if (!text && text.error().kind == ErrorKind::missing_file) return std::optional<Login>();
  if (!text) return std::move(text).error();
  ASSAY_TRY(const auto value, parse_json(*text));
  JsonFields fields(value, "login");
  Login login{.url = fields.text("url"),
              .user = fields.text("user"),
              .token = fields.text("token"),
              .id = fields.text("id"),
              .fingerprint = fields.text_or("fingerprint", "")};
  ASSAY_CHECK(fields.finish().within(fmt::format("reading '{}'", login_file(context, url).string())));
  // Two leaders may have one name of a file, https://head:1 and https://head_1: neither gets the other's token.
  if (without_slash(login.url) != without_slash(url)) return std::optional<Login>();
  return std::optional(std::move(login));
}

Result<void> keep_login(const Context& context, const Login& login) {
  const fs::path file = login_file(context, login.url);
  ASSAY_CHECK(make_folders(file.parent_path()));
  std::error_code ignored;
  fs::remove(file, ignored);
  return write_secret_file(file, json::serialize(json::object{{"schema", 1},
                                                              {"url", login.url},
                                                              {"user", login.user},
                                                              {"token", login.token},
                                                              {"id", login.id},
                                                              {"fingerprint", login.fingerprint}}));
}

Result<void> forget_login(const Context& context, std::string_view url) {
  std::error_code code;
  fs::remove(login_file(context, url), code);
  if (code) return system_error(code.value(), "cannot remove '" + login_file(context, url).string() + "'");
  return {};
}

Result<std::string> ask_secretly(std::string_view prompt) {
  if (::isatty(STDIN_FILENO) == 0) return read_line();
  print_error(prompt);
  const HiddenInput hidden;
  return read_line();
}

Result<std::string> ask_openly(std::string_view prompt) {
  if (::isatty(STDIN_FILENO) != 0) print_error(prompt);
  return read_line();
}

}  // namespace assay
