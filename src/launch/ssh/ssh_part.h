#pragma once

#include <memory>
#include <optional>
#include <string>

#include "launch/hosted/job_part.h"
#include "launch/hosted/part_relay.h"
#include "launch/ssh/ssh_host.h"

namespace assay {

/// A part of a job on a host, followed through a channel of ssh. A channel that breaks is made again, with longer and
/// longer pauses, and goes on at the next byte; a host that cannot be reached for `patience` is lost.
class SshPart final : public JobPart {
 public:
  SshPart(SshHost host, std::string id, PartOfJob part, const PerStream<std::uint64_t>& from, Nanos patience);

  void look() override;
  int wake_fd() const override;
  bool has_bytes(JobStream stream) const override { return !inbox_.bytes(stream).empty(); }
  bool at_end(JobStream stream) const override { return ending_ && inbox_.bytes(stream).empty(); }
  std::size_t read(JobStream stream, std::span<char> into) override;
  const std::optional<HostRecord>& host() const override { return inbox_.host(); }
  const std::optional<PartEnding>& ending() const override { return ending_; }
  void wish(JobWish::Kind kind, Nanos grace) override;

  /// The job, once its host has said what it is.
  const std::optional<Job>& order() const { return inbox_.order(); }
  /// What the host says instead: `not_found`, `busy`; or why it cannot be reached.
  const std::optional<Error>& problem() const { return problem_; }
  const std::string& host_name() const { return host_.name(); }

 private:
  void open_channel(SteadyTime now);
  void take_bytes(SteadyTime now);
  void close_channel(Error why, SteadyTime now);
  void send();

  SystemClock clock_;
  SshHost host_;
  std::string id_;
  PartOfJob part_;
  Nanos patience_;
  RelayInbox inbox_;
  std::optional<SshChild> channel_;
  std::string to_send_;
  std::string last_wish_;  ///< sent again over a new channel, since nobody knows whether it arrived
  std::optional<Error> problem_;
  std::optional<PartEnding> ending_;
  SteadyTime heard_at_, said_at_, open_at_;
  Nanos pause_;
  bool told_ = false;  ///< that the connection is lost
};

}  // namespace assay
