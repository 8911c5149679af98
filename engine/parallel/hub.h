#pragma once

#include <poll.h>

#include <boost/json/object.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parallel/control_options.h"
#include "parallel/message_stream.h"
#include "parallel/rank_place.h"
#include "parallel/sockets.h"

namespace assay::engine {

using SteadyTime = std::chrono::steady_clock::time_point;

/// Why a run is over for all its ranks.
struct Verdict {
  int rank = 0;
  std::string kind = "lost_peer";
  std::string message;
  std::string hint;
  bool told = false;    ///< by the rank itself, before it ended
  bool silent = false;  ///< no sign of life, as if its host had vanished
};
boost::json::object to_json(const Verdict& verdict);
/// Throws boost::system::system_error if something is missing.
Verdict verdict_from(const boost::json::object& message);
/// Of a rank whose connection ended or fell silent.
Verdict death_of(int rank, int size, const std::string& host, std::optional<std::chrono::milliseconds> silence);

/// Rank 0's end of everybody's control connection, its own included. It has no thread: `serve` is called whenever one
/// of the sockets in `watch` has something, and a few times a second. Never blocks.
///
/// Messages to the hub: join, alive, gather, put, get, leave, failed. From it: welcome, refused, alive, gathered,
/// value, lost, bye.
class Hub {
 public:
  /// `own_end`: the other end of rank 0's own connection.
  Hub(Fd listening, Fd own_end, const RankPlace& place, const ControlLimits& limits, SteadyTime now);

  void watch(std::vector<pollfd>& sockets) const;
  void serve(SteadyTime now);
  /// Nobody has been silent so far: this process itself was stopped and could not listen.
  void forgive(SteadyTime now);
  bool has_unsent() const;

 private:
  struct Peer {
    explicit Peer(Fd fd, SteadyTime now) : stream(std::move(fd)), heard(now) {}
    MessageStream stream;
    SteadyTime heard;
    int rank = -1;  ///< until it has joined
    std::string host;
    bool left = false;
    bool closed = false;
  };

  void accept_strangers(SteadyTime now);
  void read_from(Peer& peer, SteadyTime now);
  void handle(Peer& peer, const boost::json::object& message, SteadyTime now);
  void handle_join(Peer& peer, const boost::json::object& message);
  void handle_gather(Peer& peer, const boost::json::object& message);
  void handle_key(Peer& peer, const boost::json::object& message, bool put);
  void welcome_all();
  void check_silence(SteadyTime now);
  void check_missing(SteadyTime now);
  void beat(SteadyTime now);
  void announce(Verdict verdict);
  void send_to_all(const boost::json::object& message);
  Peer* peer_of(int rank);

  Fd listening_;
  const RankPlace place_;
  const ControlLimits limits_;
  const SteadyTime started_;
  SteadyTime last_beat_;
  std::vector<std::unique_ptr<Peer>> peers_;
  bool welcomed_ = false;
  int left_ = 0;  ///< ranks that have ended on purpose
  std::optional<Verdict> verdict_;
  std::map<std::int64_t, std::map<int, boost::json::value>> rounds_;  ///< values gathered so far
  std::map<std::string, std::string> values_;
  std::multimap<std::string, int> waiting_;  ///< ranks that asked for a key that is not there yet
};

}  // namespace assay::engine
