#include "formats/events.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>

namespace assay::engine {
namespace {

std::optional<int> number_from(std::string_view text) {
  int number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

int connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // The socket API is typed that way.
  if (fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

/// The descriptor that events go to, opened once and kept until the process ends.
int open_events() {
  const char* variable = std::getenv("ASSAY_EVENTS");
  const std::string_view where = variable ? variable : "";
  int fd = STDOUT_FILENO;
  if (where.starts_with("fd:")) {
    fd = number_from(where.substr(3)).value_or(STDOUT_FILENO);
  } else if (where.starts_with("file:")) {
    fd = ::open(std::string(where.substr(5)).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  } else if (where.starts_with("unix:")) {
    fd = connect_to(std::string(where.substr(5)));
  }
  if (fd >= 0) return fd;
  std::cerr << "assay-engine: cannot open ASSAY_EVENTS='" << where << "': " << std::strerror(errno)
            << "; events go to standard output\n";
  return STDOUT_FILENO;
}

}  // namespace

void emit_event(std::string_view type, const boost::json::object& fields) {
  static const int fd = open_events();
  boost::json::object event{{"assay", 1}, {"type", type}};
  event.insert(fields.begin(), fields.end());
  const std::string line = boost::json::serialize(event) + '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      std::cerr << "assay-engine: cannot write an event: " << std::strerror(errno) << '\n';
      return;
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace assay::engine
