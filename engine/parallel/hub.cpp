#include "parallel/hub.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value_to.hpp>
#include <exception>
#include <stdexcept>

namespace assay::engine {
namespace {

namespace json = boost::json;

constexpr auto kStrangerLimit = std::chrono::seconds(5);
constexpr std::size_t kMostStrangers = 64;
constexpr std::size_t kLargestJoin = 4096;
constexpr std::size_t kMostKeys = 100000;

std::string text_in(const json::object& message, const char* key) { return std::string(message.at(key).as_string()); }
int rank_in(const json::object& message) { return message.at("rank").to_number<int>(); }

std::string rank_of(int rank, int size) { return "rank " + std::to_string(rank) + " of " + std::to_string(size); }

std::string seconds_text(std::chrono::milliseconds time) {
  return std::to_string(std::chrono::round<std::chrono::seconds>(time).count()) + " s";
}

/// "rank 2" or "ranks 1, 2 and 3".
std::string list_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

}  // namespace

json::object to_json(const Verdict& verdict) {
  return {{"type", "lost"},       {"rank", verdict.rank}, {"kind", verdict.kind},    {"message", verdict.message},
          {"hint", verdict.hint}, {"told", verdict.told}, {"silent", verdict.silent}};
}

Verdict verdict_from(const json::object& message) {
  return {.rank = rank_in(message),
          .kind = text_in(message, "kind"),
          .message = text_in(message, "message"),
          .hint = text_in(message, "hint"),
          .told = message.at("told").as_bool(),
          .silent = message.at("silent").as_bool()};
}

Verdict death_of(int rank, int size, const std::string& host, std::optional<std::chrono::milliseconds> silence) {
  Verdict verdict;
  verdict.rank = rank;
  verdict.silent = silence.has_value();
  verdict.message = rank_of(rank, size) + " on " + host +
                    (silence ? " has given no sign of life for " + seconds_text(*silence) : std::string(" died"));
  verdict.hint = silence ? "Is that host up, and its network?"
                         : "Its own output says more; the kernel's log shows whether it ran out of memory.";
  return verdict;
}

Hub::Hub(Fd listening, Fd own_end, const RankPlace& place, const ControlLimits& limits, SteadyTime now)
    : listening_(std::move(listening)), place_(place), limits_(limits), started_(now), last_beat_(now) {
  peers_.push_back(std::make_unique<Peer>(std::move(own_end), now));
}

void Hub::watch(std::vector<pollfd>& sockets) const {
  if (listening_.valid()) sockets.push_back({.fd = listening_.get(), .events = POLLIN, .revents = 0});
  for (const auto& peer : peers_) {
    const short events = peer->stream.has_unsent() ? POLLIN | POLLOUT : POLLIN;
    sockets.push_back({.fd = peer->stream.fd().get(), .events = events, .revents = 0});
  }
}

void Hub::serve(SteadyTime now) {
  accept_strangers(now);
  for (const auto& peer : peers_) read_from(*peer, now);
  check_silence(now);
  check_missing(now);
  beat(now);
  for (const auto& peer : peers_) peer->stream.flush();
  std::erase_if(peers_, [](const auto& peer) { return peer->closed; });
}

void Hub::forgive(SteadyTime now) {
  for (const auto& peer : peers_) peer->heard = now;
}

bool Hub::has_unsent() const {
  return std::any_of(peers_.begin(), peers_.end(), [](const auto& peer) { return peer->stream.has_unsent(); });
}

void Hub::accept_strangers(SteadyTime now) {
  if (!listening_.valid()) return;
  auto strangers = static_cast<std::size_t>(
      std::count_if(peers_.begin(), peers_.end(), [](const auto& peer) { return peer->rank < 0; }));
  for (; strangers < kMostStrangers; ++strangers) {
    Fd fd = accept_from(listening_);
    if (!fd.valid()) return;
    peers_.push_back(std::make_unique<Peer>(std::move(fd), now));
  }
}

void Hub::read_from(Peer& peer, SteadyTime now) {
  if (peer.closed) return;
  std::vector<json::object> messages;
  bool open = peer.stream.receive(messages, peer.rank < 0 ? kLargestJoin : kLargestMessage);
  try {
    for (const auto& message : messages) {
      if (!peer.closed) handle(peer, message, now);
    }
  } catch (const std::exception&) {
    open = false;  // a message without what belongs into it: not one of ours
  }
  if (open || peer.closed) return;
  peer.closed = true;
  if (peer.rank >= 0 && !peer.left) announce(death_of(peer.rank, place_.size, peer.host, std::nullopt));
}

void Hub::handle(Peer& peer, const json::object& message, SteadyTime now) {
  peer.heard = now;
  const std::string type = text_in(message, "type");
  if (peer.rank < 0) {
    // Whoever does not even try to join is no rank and gets no answer.
    if (type == "join") return handle_join(peer, message);
    peer.closed = true;
  } else if (type == "gather") {
    handle_gather(peer, message);
  } else if (type == "put" || type == "get") {
    handle_key(peer, message, type == "put");
  } else if (type == "leave") {
    if (!peer.left) ++left_;
    peer.left = true;
    if (left_ == place_.size) send_to_all({{"type", "bye"}});
  } else if (type == "failed") {
    Verdict verdict = death_of(peer.rank, place_.size, peer.host, std::nullopt);
    verdict.kind = text_in(message, "kind");
    verdict.message = rank_of(peer.rank, place_.size) + " on " + peer.host + ": " + text_in(message, "message");
    verdict.hint = text_in(message, "hint");
    verdict.told = true;
    announce(std::move(verdict));
  }
}

void Hub::handle_join(Peer& peer, const json::object& message) {
  const int rank = rank_in(message);
  const std::string host = text_in(message, "host");
  const std::string version = text_in(message, "version");
  std::string reason;
  if (text_in(message, "token") != place_.token) {
    reason = "it belongs to another run";
  } else if (version != ASSAY_ENGINE_VERSION) {
    reason = "it is assay-engine " + version + ", rank 0 is " ASSAY_ENGINE_VERSION;
  } else if (message.at("size").to_number<int>() != place_.size || rank < 0 || rank >= place_.size) {
    reason = "rank 0 knows of " + std::to_string(place_.size) + " ranks";
  } else if (peer_of(rank)) {
    reason = "a process on " + peer_of(rank)->host + " has joined as that rank already";
  }
  if (!reason.empty()) {
    peer.stream.send({{"type", "refused"}, {"reason", reason}});
    peer.closed = true;
    return;
  }
  peer.rank = rank;
  peer.host = host;
  if (verdict_) peer.stream.send(to_json(*verdict_));
  const auto joined = std::count_if(peers_.begin(), peers_.end(), [](const auto& each) { return each->rank >= 0; });
  if (joined == place_.size && !verdict_) welcome_all();
}

void Hub::welcome_all() {
  welcomed_ = true;
  listening_.close();
  std::vector<json::string> hosts(static_cast<std::size_t>(place_.size));
  std::string address;
  for (const auto& peer : peers_) {
    if (peer->rank < 0) {
      peer->closed = true;
      continue;
    }
    hosts[static_cast<std::size_t>(peer->rank)] = peer->host;
    const std::string local = local_address_of(peer->stream.fd());
    if (address.empty() && !local.empty() && !is_loopback(local)) address = local;
  }
  send_to_all({{"type", "welcome"}, {"hosts", json::array(hosts.begin(), hosts.end())}, {"address", address}});
}

void Hub::handle_gather(Peer& peer, const json::object& message) {
  const auto number = message.at("round").to_number<std::int64_t>();
  auto& round = rounds_[number];
  round.emplace(peer.rank, message.at("value"));
  if (round.size() != static_cast<std::size_t>(place_.size)) return;
  json::array values;
  for (auto& [rank, value] : round) values.push_back(std::move(value));
  rounds_.erase(number);
  send_to_all({{"type", "gathered"}, {"round", number}, {"values", std::move(values)}});
}

void Hub::handle_key(Peer& peer, const json::object& message, bool put) {
  const std::string key = text_in(message, "key");
  const auto answer = [&](Peer& to) { to.stream.send({{"type", "value"}, {"key", key}, {"value", values_.at(key)}}); };
  if (put) {
    if (values_.size() >= kMostKeys) throw std::length_error("too many keys");
    values_[key] = text_in(message, "value");
    const auto [begin, end] = waiting_.equal_range(key);
    for (auto entry = begin; entry != end; ++entry) {
      if (Peer* waiting = peer_of(entry->second)) answer(*waiting);
    }
    waiting_.erase(begin, end);
  } else if (values_.contains(key)) {
    answer(peer);
  } else {
    waiting_.emplace(key, peer.rank);
  }
}

void Hub::check_silence(SteadyTime now) {
  for (const auto& peer : peers_) {
    if (peer->closed || peer->rank == 0) continue;  // rank 0 is this process
    const bool stranger = peer->rank < 0;
    if (now - peer->heard < (stranger ? kStrangerLimit : limits_.silence)) continue;
    peer->closed = true;
    if (!stranger && !peer->left) announce(death_of(peer->rank, place_.size, peer->host, limits_.silence));
  }
}

void Hub::check_missing(SteadyTime now) {
  if (welcomed_ || verdict_ || now - started_ < limits_.join) return;
  std::vector<int> missing;
  for (int rank = 0; rank < place_.size; ++rank) {
    if (!peer_of(rank)) missing.push_back(rank);
  }
  if (missing.empty()) return;
  Verdict verdict;
  verdict.rank = missing.front();
  verdict.message =
      list_of(missing) + " of " + std::to_string(place_.size) + " did not join within " + seconds_text(limits_.join);
  verdict.hint = "Were they started, and can they reach " + place_.master_address + " on port " +
                 std::to_string(place_.master_port) + "?";
  announce(std::move(verdict));
}

void Hub::beat(SteadyTime now) {
  if (now - last_beat_ < limits_.heartbeat) return;
  last_beat_ = now;
  send_to_all({{"type", "alive"}});
}

void Hub::announce(Verdict verdict) {
  if (verdict_) return;  // what follows the first death is its consequence
  verdict_ = std::move(verdict);
  listening_.close();
  send_to_all(to_json(*verdict_));
}

void Hub::send_to_all(const json::object& message) {
  // Rank 0 last: once it knows, its process may end, and everybody else must have been told by then.
  for (const bool own : {false, true}) {
    for (const auto& peer : peers_) {
      if (peer->rank >= 0 && !peer->closed && (peer->rank == 0) == own) peer->stream.send(message);
    }
  }
}

Hub::Peer* Hub::peer_of(int rank) {
  for (const auto& peer : peers_) {
    if (peer->rank == rank && !peer->closed) return peer.get();
  }
  return nullptr;
}

}  // namespace assay::engine
