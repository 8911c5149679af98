#include "sharing/load_coordinator.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <deque>

#include "base/text.h"
#include "net/listener.h"

namespace assay {
namespace {

constexpr Nanos kLookAgain = std::chrono::milliseconds(100);
constexpr Nanos kProveYourself = std::chrono::seconds(10);    // for a caller to say who it is
constexpr std::size_t kMostCallers = 64;                      // that have not said it yet
constexpr Nanos kStartLead = std::chrono::milliseconds(500);  // for `start` to reach everybody
constexpr int kQuestions = 32;
constexpr Nanos kQuestionsTake = std::chrono::milliseconds(500);  // of one client, at most
constexpr Nanos kAnswerPatience = std::chrono::seconds(10);

/// Waits until one of them has something to read, or a tenth of a second.
void wait_for_any(const std::vector<int>& descriptors) {
  std::vector<pollfd> polls;
  for (const int fd : descriptors) polls.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  static_cast<void>(::poll(polls.data(), polls.size(), static_cast<int>(kLookAgain / std::chrono::milliseconds(1))));
}

/// Somebody who has connected and not said yet who it is.
struct Caller {
  std::unique_ptr<LoadLink> link;
  SteadyTime deadline;
};

/// Two moments of one client that nobody looked at in between. Values are those of the later one.
LiveMoment followed_by(const LiveMoment& earlier, LiveMoment later) {
  later.sent += earlier.sent;
  later.ok += earlier.ok;
  later.failed += earlier.failed;
  later.tokens += earlier.tokens;
  later.over += earlier.over;
  return later;
}

std::string other_version(const ClientHello& hello, const LoadIdentity& ours) {
  return fmt::format("{} is {}, and this is {}", name_of_client(hello.index, hello.host),
                     printable(hello.identity.version), ours.version);
}

}  // namespace

struct LoadCoordinator::Seat {
  std::unique_ptr<LoadLink> link;  ///< empty: nobody has taken it yet
  std::string host;
  bool ready = false;
  bool done = false;             ///< of this load
  std::optional<Error> trouble;  ///< that the client reported
  std::string lost;              ///< why; for all further loads, too
  SteadyTime heard{};
  LiveMoment moment;       ///< since the last look
  std::uint64_t sent = 0;  ///< in all, as its figures say
  ClockAlignment clock;
  PartReader part;
};

LoadCoordinator::LoadCoordinator(CoordinatorOptions options, const Clock& clock)
    : options_(std::move(options)), clock_(clock) {
  for (std::uint32_t i = 1; i < options_.clients; ++i) seats_.push_back(std::make_unique<Seat>());
}

LoadCoordinator::~LoadCoordinator() {
  if (listening_.joinable()) {
    listening_.request_stop();
    listening_.join();
  }
  for (const auto& seat : seats_) {
    if (seat->link && seat->lost.empty()) static_cast<void>(seat->link->send(FrameType::bye).ok());
  }
}

Result<std::unique_ptr<LoadCoordinator>> LoadCoordinator::gather(const Listener& listener, CoordinatorOptions options,
                                                                 const Clock& clock, const std::stop_token& stopping) {
  std::unique_ptr<LoadCoordinator> coordinator(new LoadCoordinator(std::move(options), clock));
  ASSAY_CHECK(coordinator->admit_all(listener, stopping));
  return coordinator;
}

Result<bool> LoadCoordinator::admit(LoadLink& link, const LoadFrame& frame) {
  ASSAY_TRY(const auto hello, client_hello_from(frame.payload));
  const auto refuse = [&](ErrorKind kind, std::string message, std::string hint) -> Result<bool> {
    static_cast<void>(link.send(FrameType::refuse, message).ok());
    return Error{.kind = kind, .message = std::move(message), .hint = std::move(hint)};
  };
  const std::string who = name_of_client(hello.index, printable(hello.host));
  if (hello.identity.version != options_.identity.version) {
    return refuse(ErrorKind::unsupported, other_version(hello, options_.identity),
                  "Use the same assay on every client.");
  }
  if (hello.count != options_.clients || hello.index == 0 || hello.index >= options_.clients) {
    return refuse(
        ErrorKind::bad_spec,
        fmt::format("{} takes itself for one of {}, and this load has {}", who, hello.count, options_.clients),
        "Start every client with its own RANK and the same WORLD_SIZE.");
  }
  if (hello.identity.settings != options_.identity.settings) {
    return refuse(ErrorKind::bad_spec, fmt::format("{} has other settings", who),
                  "Give every client the same specification.");
  }
  if (hello.identity.files != options_.identity.files) {
    return refuse(ErrorKind::bad_spec, fmt::format("{} has other contents in a file that the settings name", who),
                  "Copy the files of 'trace' and 'requests' to every client.");
  }
  Seat& seat = *seats_[hello.index - 1];
  if (seat.link) return refuse(ErrorKind::bad_spec, fmt::format("there are two of {}", who), "Give each its own RANK.");
  seat.host = printable(hello.host);
  return true;
}

Result<void> LoadCoordinator::admit_all(const Listener& listener, const std::stop_token& stopping) {
  const SteadyTime deadline = clock_.now() + options_.join_patience;
  std::deque<Caller> callers;
  std::size_t missing = seats_.size();
  while (missing > 0) {
    if (stopping.stop_requested())
      return Error{.kind = ErrorKind::interrupted, .message = "stopped while clients joined"};
    if (options_.still_expected) ASSAY_CHECK(options_.still_expected());
    if (clock_.now() >= deadline) {
      return Error{.kind = ErrorKind::lost_peer,
                   .message = fmt::format("{} of {} clients did not join within {} s{}", missing, options_.clients,
                                          options_.join_patience / std::chrono::seconds(1),
                                          turned_away_ == 0 ? ""
                                                            : fmt::format(", and {} callers without the key of this "
                                                                          "load were turned away",
                                                                          turned_away_)),
                   .hint = "Look whether they were started, and whether they can reach this machine."};
    }
    std::vector<int> descriptors = {listener.fd()};
    for (const auto& caller : callers) descriptors.push_back(caller.link->fd());
    wait_for_any(descriptors);
    for (auto accepted = listener.accept(); accepted.error == 0; accepted = listener.accept()) {
      if (callers.size() == kMostCallers) callers.pop_front();
      callers.push_back(
          {std::make_unique<LoadLink>(std::move(accepted.connection.fd), LinkEnd::coordinator, options_.key),
           clock_.now() + kProveYourself});
    }
    for (auto caller = callers.begin(); caller != callers.end();) {
      auto frame = caller->link->pump().ok() ? caller->link->next()
                                             : Result<std::optional<LoadFrame>>(Error{.kind = ErrorKind::lost_peer});
      if (frame && !*frame && clock_.now() < caller->deadline) {
        ++caller;
        continue;
      }
      if (!frame || !*frame || (**frame).type != FrameType::hello) {
        ++turned_away_;
        caller = callers.erase(caller);
        continue;
      }
      ASSAY_CHECK(admit(*caller->link, **frame));
      const auto hello = client_hello_from((**frame).payload);
      Seat& seat = *seats_[hello->index - 1];
      seat.link = std::move(caller->link);
      caller = callers.erase(caller);
      --missing;
      if (const auto sent = seat.link->send(FrameType::welcome, options_.run); !sent) lose(seat, sent.error().message);
    }
  }
  return {};
}

void LoadCoordinator::announce(const LoadOrder& order) {
  const std::string payload = json::serialize(to_json(order));
  for (const auto& seat : seats_) {
    seat->ready = seat->done = false;
    seat->trouble.reset();
    seat->moment = {};
    seat->sent = 0;
    seat->part = {};
    seat->heard = clock_.now();
    if (seat->lost.empty()) {
      if (const auto sent = seat->link->send(FrameType::load, payload); !sent) lose(*seat, sent.error().message);
    }
  }
}

void LoadCoordinator::lose(Seat& seat, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (seat.lost.empty()) seat.lost = why;
}

void LoadCoordinator::hear(Seat& seat) {
  auto pumped = seat.link->pump();
  for (;;) {
    auto frame = pumped ? seat.link->next() : Result<std::optional<LoadFrame>>(pumped.error());
    if (!frame) return lose(seat, frame.error().message);
    if (!*frame) return;
    const std::lock_guard lock(mutex_);
    seat.heard = clock_.now();
    switch ((**frame).type) {
      case FrameType::ready: seat.ready = true; break;
      case FrameType::failed: seat.trouble = error_from((**frame).payload); break;
      case FrameType::figures: {
        json::error_code code;
        const auto moment = live_moment_from_json(json::parse((**frame).payload, code));
        if (code || !moment) break;  // of use to nobody, and of no harm: the records decide
        seat.sent += moment->sent;
        seat.moment = followed_by(seat.moment, *moment);
        break;
      }
      default: {
        const auto last = seat.part.take(**frame);
        if (!last && seat.lost.empty()) seat.lost = last.error().message;
        if (last && *last) seat.done = true;
        if (!last) return;
      }
    }
  }
}

void LoadCoordinator::listen(const std::stop_token& stopping) {
  while (!stopping.stop_requested()) {
    std::vector<int> descriptors;
    std::vector<Seat*> talking;
    for (const auto& seat : seats_) {
      const std::lock_guard lock(mutex_);
      if (!seat->lost.empty() || seat->done) continue;
      talking.push_back(seat.get());
      descriptors.push_back(seat->link->fd());
    }
    if (talking.empty()) return;
    wait_for_any(descriptors);
    for (Seat* seat : talking) {
      hear(*seat);
      if (clock_.now() - seat->heard > options_.silence) {
        lose(*seat, fmt::format("it was not heard of for {} s", options_.silence / std::chrono::seconds(1)));
      }
    }
  }
}

Result<ClockAlignment> LoadCoordinator::look_at_clock(Seat& seat) {
  ClockQuestions questions;
  const SteadyTime enough = clock_.now() + kQuestionsTake;
  for (int i = 0; i < kQuestions && (i < 2 || clock_.now() < enough); ++i) {
    const SteadyTime asked = clock_.now();
    ASSAY_CHECK(seat.link->send(FrameType::ping));
    ASSAY_TRY(const auto answer, seat.link->receive(kAnswerPatience));
    const SteadyTime heard = clock_.now();
    if (!answer || answer->type != FrameType::pong) {
      return Error{.kind = ErrorKind::lost_peer, .message = "it does not say what time it has"};
    }
    ASSAY_TRY(const auto theirs, time_from(answer->payload));
    questions.take(asked, theirs, heard);
  }
  return *questions.best();
}

Result<SteadyTime> LoadCoordinator::agree_start(const std::stop_token& stopping) {
  const SteadyTime deadline = clock_.now() + options_.ready_patience;
  for (bool waiting = true; waiting;) {
    if (stopping.stop_requested()) return Error{.kind = ErrorKind::interrupted, .message = "stopped before the start"};
    waiting = false;
    std::vector<int> descriptors;
    for (std::uint32_t i = 0; i < seats_.size(); ++i) {
      Seat& seat = *seats_[i];
      if (seat.lost.empty()) hear(seat);
      const std::string who = name_of_client(i + 1, seat.host);
      if (!seat.lost.empty()) return Error{.kind = ErrorKind::lost_peer, .message = seat.lost}.within(who);
      if (seat.trouble) return Error(*seat.trouble).within(who);
      if (seat.ready) continue;
      if (clock_.now() >= deadline) {
        return Error{.kind = ErrorKind::lost_peer,
                     .message = fmt::format("{} did not get ready within {} s", who,
                                            options_.ready_patience / std::chrono::seconds(1)),
                     .hint = "Look at what it does: it reads the files of the settings and asks the target."};
      }
      waiting = true;
      descriptors.push_back(seat.link->fd());
    }
    if (waiting) wait_for_any(descriptors);
  }
  for (std::uint32_t i = 0; i < seats_.size(); ++i) {
    auto clock = look_at_clock(*seats_[i]);
    if (!clock) return std::move(clock).error().within(name_of_client(i + 1, seats_[i]->host));
    seats_[i]->clock = *clock;
  }
  const SteadyTime start = clock_.now() + kStartLead;
  for (const auto& seat : seats_) {
    const auto sent = seat->link->send(FrameType::start, time_payload(start + seat->clock.offset));
    if (!sent) lose(*seat, sent.error().message);
    seat->heard = clock_.now();
  }
  listening_ = std::jthread([this](const std::stop_token& ending) { listen(ending); });
  return start;
}

std::vector<LiveMoment> LoadCoordinator::moments() {
  const std::lock_guard lock(mutex_);
  std::vector<LiveMoment> all;
  for (const auto& seat : seats_) {
    all.push_back(seat->moment);
    // What goes on goes on until the next figures say otherwise; what has happened is told once.
    seat->moment = {.in_flight = seat->moment.in_flight};
  }
  return all;
}

std::vector<ClientPart> LoadCoordinator::collect(bool stop) {
  for (const auto& seat : seats_) {
    if (!stop) break;
    static_cast<void>(seat->link->send(FrameType::stop).ok());  // who cannot be told is lost, as `listen` finds
  }
  if (listening_.joinable()) listening_.join();
  std::vector<ClientPart> parts;
  for (std::uint32_t i = 0; i < seats_.size(); ++i) {
    Seat& seat = *seats_[i];
    if (seat.lost.empty()) {
      if (const auto after = look_at_clock(seat)) {
        seat.clock = with_drift(seat.clock, *after);
      } else {
        seat.lost = after.error().message;
      }
    }
    ClientPart part =
        seat.lost.empty() ? std::move(seat.part.part()) : ClientPart{.lost = seat.lost, .sent = seat.sent};
    part.index = i + 1;
    part.host = seat.host;
    part.clock = seat.clock;
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace assay
