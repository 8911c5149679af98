#include "parallel/control_channel.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <boost/json/value_to.hpp>
#include <cerrno>
#include <exception>
#include <stdexcept>
#include <system_error>

#include "parallel/quiet_thread.h"

namespace assay::engine {
namespace {

namespace json = boost::json;
using SteadyClock = std::chrono::steady_clock;

constexpr int kWakeMilliseconds = 250;
constexpr auto kFarewell = std::chrono::seconds(2);
constexpr std::size_t kRoomForFraming = 4096;
constexpr std::size_t kLongestText = 8192;

std::string shortened(const std::string& text) { return text.substr(0, kLongestText); }

}  // namespace

ControlChannel::ControlChannel(const RankPlace& place, ControlOptions options)
    : place_(place), options_(std::move(options)) {}

std::unique_ptr<ControlChannel> ControlChannel::join(const RankPlace& place, ControlOptions options) {
  std::unique_ptr<ControlChannel> channel(new ControlChannel(place, std::move(options)));
  channel->connect();
  channel->await_welcome();
  return channel;
}

void ControlChannel::connect() {
  Fd listening(std::exchange(options_.listening_fd, -1));
  const SteadyTime now = SteadyClock::now();
  if (place_.rank == 0) {
    if (!listening.valid()) listening = listen_on(place_.master_address, place_.master_port);
    auto [hub_end, own_end] = local_pair();
    hub_ = std::make_unique<Hub>(std::move(listening), std::move(hub_end), place_, options_.limits, now);
    stream_.emplace(std::move(own_end));
  } else {
    listening.close();
    std::string problem;
    Fd fd = connect_to(place_.master_address, place_.master_port, now + options_.limits.join, problem);
    if (!fd.valid()) {
      throw PeerFailure("lost_peer",
                        "rank 0 of " + std::to_string(place_.size) + " cannot be reached at " + place_.master_address +
                            " port " + std::to_string(place_.master_port) + ": " + problem,
                        "Was it started, and does a firewall let that port through?", 0, place_.rank == 1);
    }
    address_ = local_address_of(fd);
    stream_.emplace(std::move(fd));
  }
  wake_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.valid()) throw std::system_error(errno, std::generic_category(), "eventfd");
  heard_ = last_beat_ = SteadyClock::now();
  post({{"type", "join"},
        {"token", place_.token},
        {"version", ASSAY_ENGINE_VERSION},
        {"rank", place_.rank},
        {"size", place_.size},
        {"host", this_host()}});
  thread_ = quiet_thread([this] { run(); });
}

void ControlChannel::await_welcome() {
  std::unique_lock lock(mutex_);
  // Rank 0 gives up first and says who is missing; the rest is for its message to arrive.
  const auto limit = options_.limits.join + std::chrono::seconds(10);
  const bool answered = changed_.wait_for(lock, limit, [&] { return welcome_ || refusal_ || verdict_; });
  if (refusal_) {
    throw Failure("bad_spec", "rank 0 at " + place_.master_address + " refused rank " + std::to_string(place_.rank) +
                                  " of " + std::to_string(place_.size) + ": " + *refusal_);
  }
  if (!answered) {
    Verdict verdict = death_of(0, place_.size, place_.master_address, limit);
    judge(std::move(verdict));
  }
  if (!welcome_) throw_verdict(lock);
  for (const auto& host : welcome_->at("hosts").as_array()) hosts_.emplace_back(host.as_string());
  const std::string hub_address(welcome_->at("address").as_string());
  // A rank on rank 0's host may have reached it over loopback, where other hosts cannot follow.
  const bool beside_rank_0 = hosts_[static_cast<std::size_t>(place_.rank)] == hosts_[0];
  if (beside_rank_0 && !hub_address.empty()) address_ = hub_address;
  if (address_.empty()) address_ = "127.0.0.1";
}

ControlChannel::~ControlChannel() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof(one));
  thread_.join();
}

std::size_t ControlChannel::largest_value() const {
  return (kLargestMessage - kRoomForFraming) / static_cast<std::size_t>(place_.size) - 1;
}

std::vector<json::value> ControlChannel::gather(const json::value& mine) {
  if (const auto bytes = json::serialize(mine).size(); bytes > largest_value()) {
    throw std::length_error("a value of " + std::to_string(bytes) + " bytes is too large to be gathered");
  }
  throw_if_lost();
  std::unique_lock lock(mutex_);
  const std::int64_t round = round_++;
  lock.unlock();
  post({{"type", "gather"}, {"round", round}, {"value", mine}});
  lock.lock();
  wait_until(lock, [&] { return gathered_.contains(round); });
  return std::move(gathered_.extract(round).mapped());
}

void ControlChannel::put(const std::string& key, const std::string& value) {
  if (key.size() + value.size() > kLargestMessage / 2) throw std::length_error("too large a value for " + key);
  throw_if_lost();
  post({{"type", "put"}, {"key", key}, {"value", value}});
}

std::string ControlChannel::get(const std::string& key) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = values_.find(key); known != values_.end()) return known->second;
  }
  post({{"type", "get"}, {"key", key}});
  std::unique_lock lock(mutex_);
  wait_until(lock, [&] { return values_.contains(key); });
  return values_.at(key);
}

void ControlChannel::leave() {
  throw_if_lost();
  post({{"type", "leave"}});
  std::unique_lock lock(mutex_);
  wait_until(lock, [&] { return finished_; });
}

void ControlChannel::fail(const Failure& failure) noexcept {
  try {
    post({{"type", "failed"},
          {"kind", failure.kind()},
          {"message", shortened(failure.what())},
          {"hint", shortened(failure.hint())}});
    std::unique_lock lock(mutex_);
    failed_ = true;
    // Rank 0 passes it on to all, and to this rank last.
    changed_.wait_for(lock, kFarewell, [&] { return verdict_ || finished_; });
  } catch (const std::exception&) {
    // Then the others learn from the end of the connection that this rank is gone.
  }
}

bool ControlChannel::is_lost() const {
  const std::lock_guard lock(mutex_);
  return verdict_.has_value();
}

void ControlChannel::throw_if_lost() {
  std::unique_lock lock(mutex_);
  if (verdict_) throw_verdict(lock);
}

void ControlChannel::throw_loss(const std::string& otherwise) {
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, options_.limits.grace, [&] { return verdict_.has_value(); })) throw_verdict(lock);
  lock.unlock();
  fail(Failure("lost_peer", otherwise));
  lock.lock();
  if (verdict_) throw_verdict(lock);
  throw PeerFailure("lost_peer", otherwise, "", place_.rank, place_.rank == 0);
}

template <typename Ready>
void ControlChannel::wait_until(std::unique_lock<std::mutex>& lock, Ready ready) {
  changed_.wait(lock, [&] { return verdict_ || ready(); });
  if (!ready()) throw_verdict(lock);
}

void ControlChannel::throw_verdict(std::unique_lock<std::mutex>& lock) {
  // The caller now ends the process by itself; if its destructors get stuck, that is noticed later.
  stuck_at_ = SteadyClock::now() + 2 * options_.limits.grace;
  const PeerFailure failure = failure_of(*verdict_);
  lock.unlock();
  throw failure;
}

PeerFailure ControlChannel::failure_of(const Verdict& verdict) const {
  int reporter = 0;
  if (verdict.rank == 0) {
    reporter = verdict.told ? 0 : 1;
    // A host that has vanished took all its ranks along.
    while (verdict.silent && reporter > 0 && reporter < static_cast<int>(hosts_.size()) &&
           hosts_[static_cast<std::size_t>(reporter)] == hosts_[0]) {
      ++reporter;
    }
    if (reporter == place_.size) reporter = 1;
  }
  return {verdict.kind, verdict.message, verdict.hint, verdict.rank, reporter == place_.rank};
}

void ControlChannel::post(json::object message) {
  {
    const std::lock_guard lock(mutex_);
    outbox_.push_back(std::move(message));
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof(one));
}

void ControlChannel::run() {
  SteadyTime before = SteadyClock::now();
  while (true) {
    try {
      wait_for_work();
      const SteadyTime now = SteadyClock::now();
      // Several times what a busy machine delays a thread by: we were stopped, and the others perhaps with us.
      if (now - before > options_.limits.silence / 3) {
        if (hub_) hub_->forgive(now);
        heard_ = now;
      }
      before = now;
      if (!serve(now)) return;
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      judge({.rank = place_.rank, .kind = "internal", .message = std::string("the control channel: ") + error.what()});
      if (stop_) return;
    }
  }
}

void ControlChannel::wait_for_work() {
  std::vector<pollfd> sockets = {{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
  if (open_) {
    const short events = stream_->has_unsent() ? POLLIN | POLLOUT : POLLIN;
    sockets.push_back({.fd = stream_->fd().get(), .events = events, .revents = 0});
  }
  if (hub_) hub_->watch(sockets);
  ::poll(sockets.data(), sockets.size(), kWakeMilliseconds);
  std::uint64_t count = 0;
  [[maybe_unused]] const auto drained = ::read(wake_.get(), &count, sizeof(count));
}

bool ControlChannel::serve(SteadyTime now) {
  std::vector<json::object> outgoing;
  bool stop = false;
  {
    const std::lock_guard lock(mutex_);
    outgoing.swap(outbox_);
    stop = stop_;
  }
  if (now - last_beat_ >= options_.limits.heartbeat) {
    last_beat_ = now;
    outgoing.push_back({{"type", "alive"}});
  }
  for (const auto& message : outgoing) stream_->send(message);
  stream_->flush();
  if (hub_) hub_->serve(now);
  read_messages(now);
  end_if_stuck(now);
  return !stop;
}

void ControlChannel::read_messages(SteadyTime now) {
  if (!open_) return;
  std::vector<json::object> messages;
  open_ = stream_->receive(messages);
  if (!messages.empty()) heard_ = now;
  const std::lock_guard lock(mutex_);
  for (const auto& message : messages) handle(message);
  const std::string host = hosts_.empty() ? place_.master_address : hosts_[0];
  if (!open_ && !refusal_) judge(death_of(0, place_.size, host, std::nullopt));
  if (open_ && !hub_ && now - heard_ >= options_.limits.silence) {
    judge(death_of(0, place_.size, host, options_.limits.silence));
  }
}

void ControlChannel::handle(const json::object& message) {
  const json::string& type = message.at("type").as_string();
  if (type == "alive") return;
  if (type == "welcome") {
    welcome_ = message;
  } else if (type == "refused") {
    refusal_ = std::string(message.at("reason").as_string());
  } else if (type == "gathered") {
    const auto& values = message.at("values").as_array();
    gathered_[message.at("round").to_number<std::int64_t>()] = {values.begin(), values.end()};
  } else if (type == "value") {
    values_[std::string(message.at("key").as_string())] = std::string(message.at("value").as_string());
  } else if (type == "bye") {
    finished_ = true;
  } else if (type == "lost") {
    judge(verdict_from(message));
  }
  changed_.notify_all();
}

void ControlChannel::judge(Verdict verdict) {
  if (verdict_ || finished_) return;
  verdict_ = std::move(verdict);
  stuck_at_ = SteadyClock::now() + options_.limits.grace;
  changed_.notify_all();
}

void ControlChannel::end_if_stuck(SteadyTime now) {
  std::unique_lock lock(mutex_);
  if (!verdict_ || failed_ || now < stuck_at_ || called_stuck_) return;
  called_stuck_ = true;
  const PeerFailure failure = failure_of(*verdict_);
  lock.unlock();
  if (options_.when_stuck) options_.when_stuck(failure);
}

}  // namespace assay::engine
