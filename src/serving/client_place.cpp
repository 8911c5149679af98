#include "serving/client_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <charconv>
#include <csignal>

#include "base/files.h"
#include "base/spawn.h"

namespace assay {
namespace {

Result<std::uint32_t> number_variable(const std::string& name, const VariableReader& variable, std::uint32_t most) {
  const auto text = variable(name).value_or("");
  std::uint32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!text.empty() && read.ec == std::errc() && read.ptr == text.data() + text.size() && number <= most) return number;
  return Error{
      .kind = ErrorKind::usage,
      .message = fmt::format("the environment has {}='{}', and a client of several needs a whole number up to {}", name,
                             text, most),
      .hint = "Whoever starts the clients tells each its place: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT."};
}

}  // namespace

Result<ClientSeat> seat_of_environment(std::uint32_t clients, const VariableReader& variable) {
  constexpr std::uint32_t kMostClients = 65'536;
  ClientSeat seat;
  ASSAY_TRY(seat.share.count, number_variable("WORLD_SIZE", variable, kMostClients));
  ASSAY_TRY(seat.share.index, number_variable("RANK", variable, kMostClients));
  ASSAY_TRY(const auto port, number_variable("MASTER_PORT", variable, 65'535));
  seat.port = static_cast<std::uint16_t>(port);
  seat.coordinator = variable("MASTER_ADDR").value_or("");
  if (seat.share.count != clients || seat.share.index >= clients || seat.coordinator.empty()) {
    return Error{.kind = ErrorKind::bad_spec,
                 .message = fmt::format("this is client {} of {} at '{}', and the settings ask for {} clients",
                                        seat.share.index, seat.share.count, seat.coordinator, clients)};
  }
  return seat;
}

Result<void> LocalClients::start(const std::vector<std::string>& arguments, std::uint32_t count, std::uint16_t port) {
  ASSAY_TRY(const auto nothing, open_file("/dev/null", O_RDWR));
  for (std::uint32_t i = 1; i < count; ++i) {
    ASSAY_TRY(auto environment, merged_environment({{"RANK", std::to_string(i)},
                                                    {"WORLD_SIZE", std::to_string(count)},
                                                    {"MASTER_ADDR", "127.0.0.1"},
                                                    {"MASTER_PORT", std::to_string(port)}}));
    ASSAY_TRY(const auto process, spawn({.arguments = arguments,
                                         .environment = std::move(environment),
                                         .descriptors = {{nothing.get(), 0}, {nothing.get(), 1}, {2, 2}},
                                         .dies_with_parent = true}));
    processes_.push_back(process);
  }
  return {};
}

Result<void> LocalClients::all_there() {
  for (const int process : processes_) {
    siginfo_t info{};
    // Looks without reaping, so that the process is still ours to end.
    if (::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
      continue;
    return Error{.kind = ErrorKind::crash, .message = "a client on this machine ended before the load began"};
  }
  return {};
}

LocalClients::~LocalClients() {
  // They were told that there is no further load, and some are still tidying up.
  constexpr int kTries = 100;
  for (const int process : processes_) {
    bool ended = false;
    for (int i = 0; i < kTries && !ended; ++i) {
      ended = ::waitpid(process, nullptr, WNOHANG) == process;
      if (!ended) ::usleep(20'000);
    }
    if (ended) continue;
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  }
}

}  // namespace assay
