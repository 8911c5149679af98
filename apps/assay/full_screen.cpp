#include "full_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "context.h"

namespace assay {

FullScreen::FullScreen() {
  if (::tcgetattr(STDIN_FILENO, &before_) == 0) {
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    changed_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
  }
  // Its own screen, no cursor, no wrapping: a line that is too long for a moment must not push the others down.
  print("\x1b[?1049h\x1b[?25l\x1b[?7l");
}

FullScreen::~FullScreen() {
  print("\x1b[?7h\x1b[?25h\x1b[?1049l");
  if (changed_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void FullScreen::show(const std::string& picture) {
  // Line by line over what was there: clearing first would flicker. A newline in the last row would scroll.
  const std::string_view lines(picture.data(), picture.ends_with('\n') ? picture.size() - 1 : picture.size());
  std::string out = "\x1b[H";
  for (const char c : lines) {
    if (c == '\n') out += "\x1b[K";
    out += c;
  }
  print(out + "\x1b[K\x1b[J");
}

char FullScreen::key() {
  pollfd waiting{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (changed_ && ::poll(&waiting, 1, 0) > 0) {
    char bytes[64];
    if (const auto count = ::read(STDIN_FILENO, bytes, sizeof bytes); count > 0) {
      typed_.append(bytes, static_cast<std::size_t>(count));
    }
  }
  if (typed_.empty()) return 0;
  if (typed_.starts_with("\x1b[") && typed_.size() >= 3) {
    const char code = typed_[2];
    typed_.erase(0, 3);
    return code == 'A' ? 'U' : code == 'B' ? 'D' : ' ';
  }
  const char key = typed_.front();
  typed_.erase(0, 1);
  return key;
}

std::size_t FullScreen::rows() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

}  // namespace assay
