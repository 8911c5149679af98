#include "sharing/load_follower.h"

#include <fmt/format.h>

#include "base/text.h"

namespace assay {
namespace {

constexpr Nanos kWelcomePatience = std::chrono::seconds(30);
constexpr Nanos kALongTime = std::chrono::hours(24 * 365);

Error stopped_waiting() { return {.kind = ErrorKind::interrupted, .message = "stopped while waiting"}; }

}  // namespace

Result<std::unique_ptr<LoadFollower>> LoadFollower::join(const FollowerOptions& options, const Clock& clock,
                                                         const std::stop_token& stopping) {
  const auto where = [&] { return fmt::format("joining the load at {}:{}", options.host, options.port); };
  auto socket = connect_to_coordinator(options.host, options.port, options.join_patience, stopping);
  if (!socket) return std::move(socket).error().within(where());
  std::unique_ptr<LoadFollower> follower(
      new LoadFollower(LoadLink(std::move(*socket), LinkEnd::client, options.key), clock));
  LoadLink& link = follower->link_;
  // A coordinator that waits for others, too, says its preamble at once; one that is none says nothing.
  while (!link.is_open()) {
    const auto opened = link.receive(kWelcomePatience, stopping);
    if (!opened) return Error(opened.error()).within(where());
    if (stopping.stop_requested()) return stopped_waiting().within(where());
    if (!link.is_open()) {
      return Error{.kind = ErrorKind::unreachable, .message = "nobody there speaks of a load"}.within(where());
    }
  }
  ASSAY_CHECK(link.send(FrameType::hello, json::serialize(to_json(options.hello))));
  auto answer = link.receive(options.join_patience, stopping);
  if (!answer || !*answer) {
    return Error{.kind = ErrorKind::denied,
                 .message = fmt::format("it was not let in ({}): a client needs the key file of this very run",
                                        answer ? "there was no answer" : answer.error().message)}
        .within(where());
  }
  if ((**answer).type != FrameType::welcome) {
    return Error{.kind = ErrorKind::bad_spec, .message = printable((**answer).payload)}.within(where());
  }
  follower->run_ = (**answer).payload;
  return follower;
}

Result<LoadFrame> LoadFollower::next_frame(const std::stop_token& stopping) {
  for (;;) {
    ASSAY_TRY(auto frame, link_.receive(kALongTime, stopping));
    if (stopping.stop_requested()) return stopped_waiting();
    if (!frame) continue;
    if (frame->type != FrameType::ping) return std::move(*frame);
    ASSAY_CHECK(link_.send(FrameType::pong, time_payload(clock_.now())));
  }
}

Result<std::optional<LoadOrder>> LoadFollower::next_load(const std::stop_token& stopping) {
  for (;;) {
    ASSAY_TRY(const auto frame, next_frame(stopping));
    if (frame.type == FrameType::bye) return std::optional<LoadOrder>();
    if (frame.type == FrameType::stop) continue;  // came when our load had ended already
    if (frame.type != FrameType::load)
      return Error{.kind = ErrorKind::lost_peer, .message = "the coordinator is confused"};
    ASSAY_TRY(const auto order, load_order_from(frame.payload));
    return std::optional(order);
  }
}

Result<SteadyTime> LoadFollower::agree_start(const std::stop_token& stopping) {
  ASSAY_CHECK(link_.send(FrameType::ready));
  ASSAY_TRY(const auto frame, next_frame(stopping));
  if (frame.type == FrameType::start) return time_from(frame.payload);
  return Error{.kind = ErrorKind::interrupted, .message = "the load was called off"};
}

Result<void> LoadFollower::give_up(const Error& error) {
  return link_.send(FrameType::failed, json::serialize(error_json(error)));
}

void LoadFollower::report(const LiveMoment& moment) {
  static_cast<void>(link_.send(FrameType::figures, json::serialize(to_json(moment))).ok());
}

bool LoadFollower::told_to_stop() {
  if (!link_.pump()) return true;
  const auto frame = link_.next();
  return !frame || *frame;  // nothing but `stop` and `bye` is said while a load goes on
}

Result<void> LoadFollower::hand_in(const ClientPart& part) {
  return send_part(part, [&](FrameType type, std::string_view payload) { return link_.send(type, payload); });
}

}  // namespace assay
