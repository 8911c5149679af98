#include "parallel/joined_group.h"

#ifdef ASSAY_ENGINE_GLOO

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gloo/allreduce.h>
#include <gloo/broadcast.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "parallel/message_stream.h"
#include "parallel/quiet_thread.h"

namespace assay::engine {
namespace {

// A rank may take its time (an evaluation, a slow disk); a rank that is gone is the control channel's business.
constexpr auto kNoLimit = std::chrono::hours(24 * 7);
constexpr auto kConnectLimit = std::chrono::seconds(10);  // Gloo waits five times as long
// Below it the number of messages counts, not their size: for 16 KiB four ranks need 0.8 ms by ring, 0.3 ms by BCUBE.
constexpr std::size_t kRingFrom = std::size_t{1} << 20;
constexpr auto kLookAround = std::chrono::milliseconds(50);

/// Gloo finds the addresses of the others here.
class ChannelStore : public gloo::rendezvous::Store {
 public:
  explicit ChannelStore(ControlChannel& channel) : channel_(channel) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    channel_.put("gloo/" + key, hex_of(data.data(), data.size()));
  }
  std::vector<char> get(const std::string& key) override { return bytes_from(channel_.get("gloo/" + key)); }
  void wait(const std::vector<std::string>& keys) override {
    for (const auto& key : keys) channel_.get("gloo/" + key);
  }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override { wait(keys); }

 private:
  ControlChannel& channel_;
};

/// Executes jobs one after the other on a thread of its own, so that they run beside the backward pass.
///
/// Whoever waits for it does so here and not inside Gloo, which has waits that nothing can end: a peer that dies while
/// a segment is on its way leaves the receiver waiting for the rest. For the same reason the thread owns all it
/// touches, and is left behind if it does not come back.
class Worker : public std::enable_shared_from_this<Worker> {
 public:
  void start() {
    thread_ = quiet_thread([self = shared_from_this()] { self->run(); });
  }

  void add(std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    changed_.notify_all();
  }

  /// Until all jobs are done; throws what the first that failed threw, or PeerFailure once a rank is lost.
  void wait(ControlChannel& channel) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kLookAround, [&] { return jobs_.empty() || !problem_.empty(); })) {
      lock.unlock();
      channel.throw_if_lost();
      lock.lock();
    }
    if (problem_.empty()) return;
    const std::string problem = problem_;
    lock.unlock();
    channel.throw_loss("the connection to another rank broke: " + problem);
  }

  bool failed() const {
    const std::lock_guard lock(mutex_);
    return !problem_.empty();
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  /// Leaves the thread to itself until the process ends. `kept` lives as long.
  void abandon(std::shared_ptr<void> kept) {
    const std::lock_guard lock(mutex_);
    kept_ = std::move(kept);
    thread_.detach();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const auto& job = jobs_.front();  // stays in the queue until it is done; only this thread removes
      lock.unlock();
      std::string problem;
      try {
        job();
      } catch (const std::exception& error) {
        problem = error.what();
      }
      lock.lock();
      jobs_.pop_front();
      if (!problem.empty()) {
        problem_ = problem;
        jobs_.clear();
      }
      changed_.notify_all();
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::string problem_;
  bool stop_ = false;
  std::shared_ptr<void> kept_;
  std::thread thread_;
};

template <typename Number>
void add_up(void* sum, const void* left, const void* right, std::size_t count) {
  auto* to = static_cast<Number*>(sum);
  const auto* a = static_cast<const Number*>(left);
  const auto* b = static_cast<const Number*>(right);
  for (std::size_t i = 0; i < count; ++i) to[i] = a[i] + b[i];
}

/// Gloo's own thread polls without rest while a message waits for whoever wants it. A rank has only its own cores, so
/// there it would keep the very thread waiting that it waits for, for a whole time slice: with the lowest priority
/// (inherited from the thread that starts it) it gives way at once, and still runs whenever nothing else does.
std::shared_ptr<gloo::transport::Device> device_with_polite_thread(const gloo::transport::tcp::attr& attributes) {
  std::shared_ptr<gloo::transport::Device> device;
  std::exception_ptr problem;
  std::thread([&] {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 19);
    try {
      device = gloo::transport::tcp::CreateDevice(attributes);
    } catch (...) {
      problem = std::current_exception();
    }
  }).join();
  if (problem) std::rethrow_exception(problem);
  return device;
}

/// The connections between all ranks, and what is done over them. Used by the worker only.
class Mesh {
 public:
  void connect(ControlChannel& channel) {
    gloo::transport::tcp::attr attributes(channel.address().c_str());
    if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME")) attributes.iface = interface;
    auto device = device_with_polite_thread(attributes);
    context_ = std::make_shared<gloo::rendezvous::Context>(channel.place().rank, channel.place().size);
    context_->setTimeout(kConnectLimit);
    ChannelStore store(channel);
    context_->connectFullMesh(store, device);
  }

  template <typename Number>
  void sum(Number* data, std::size_t count) {
    gloo::AllreduceOptions options(context_);
    options.setOutput(data, count);
    options.setReduceFunction(&add_up<Number>);
    const bool small = count * sizeof(Number) < kRingFrom;
    options.setAlgorithm(small ? gloo::AllreduceOptions::Algorithm::BCUBE : gloo::AllreduceOptions::Algorithm::RING);
    options.setTag(next_tag());
    options.setTimeout(kNoLimit);
    gloo::allreduce(options);
  }

  template <typename Number>
  void combine(const at::Tensor& tensor, bool mean) {
    auto* data = static_cast<Number*>(tensor.data_ptr());
    const auto count = static_cast<std::size_t>(tensor.numel());
    sum(data, count);
    if (!mean) return;
    const Number share = Number(1) / static_cast<Number>(context_->size);
    for (std::size_t i = 0; i < count; ++i) data[i] *= share;
  }

  /// Plain loops rather than tensor operations: those would start a second team of OpenMP threads for this thread.
  template <typename Narrow>
  void combine_in_fp32(const at::Tensor& tensor, bool mean) {
    auto* data = static_cast<Narrow*>(tensor.data_ptr());
    const auto count = static_cast<std::size_t>(tensor.numel());
    scratch_.resize(count);
    for (std::size_t i = 0; i < count; ++i) scratch_[i] = static_cast<float>(data[i]);
    sum(scratch_.data(), count);
    const float share = mean ? 1.0F / static_cast<float>(context_->size) : 1.0F;
    for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<Narrow>(scratch_[i] * share);
  }

  void combine(const at::Tensor& tensor, bool mean) {
    switch (tensor.scalar_type()) {
      case at::kFloat: return combine<float>(tensor, mean);
      case at::kDouble: return combine<double>(tensor, mean);
      case at::kBFloat16: return combine_in_fp32<c10::BFloat16>(tensor, mean);
      case at::kHalf: return combine_in_fp32<c10::Half>(tensor, mean);
      default: throw std::invalid_argument("no sums over ranks in this number format");
    }
  }

  void broadcast(const at::Tensor& tensor) {
    gloo::BroadcastOptions options(context_);
    options.setOutput(static_cast<char*>(tensor.data_ptr()), tensor.nbytes());
    options.setRoot(0);
    options.setTag(next_tag());
    options.setTimeout(kNoLimit);
    gloo::broadcast(options);
  }

 private:
  /// Gloo remembers tags for a while, hence not ever new ones.
  std::uint32_t next_tag() { return tag_ = (tag_ + 1) % 1024; }

  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::vector<float> scratch_;
  std::uint32_t tag_ = 0;
};

class GlooGroup : public JoinedGroup {
 public:
  explicit GlooGroup(std::shared_ptr<ControlChannel> channel) : JoinedGroup(std::move(channel)) {
    // Gloo writes to sockets without MSG_NOSIGNAL: a peer's death would be ours.
    std::signal(SIGPIPE, SIG_IGN);
    worker_->start();
    try {
      worker_->add([mesh = mesh_, channel = shared_channel()] { mesh->connect(*channel); });
      worker_->wait(this->channel());
      gather(nullptr);  // nobody computes before all are connected
    } catch (...) {
      worker_->abandon(mesh_);
      throw;
    }
  }

  ~GlooGroup() override {
    if (left_) {
      worker_->stop();
    } else {
      worker_->abandon(mesh_);  // a connection to a dead peer may not even be destroyed
    }
  }

  void start_sum(at::Tensor tensor) override { start(std::move(tensor), false); }
  void start_mean(at::Tensor tensor) override { start(std::move(tensor), true); }

  double finish() override {
    const auto begin = std::chrono::steady_clock::now();
    channel().throw_if_lost();
    worker_->wait(channel());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  void broadcast(at::Tensor tensor) override {
    require_contiguous(tensor);
    if (tensor.numel() == 0) return;
    worker_->add([mesh = mesh_, tensor = std::move(tensor)] { mesh->broadcast(tensor); });
    finish();
  }

  void leave() override {
    finish();
    channel().leave();
    left_ = true;
  }

 private:
  void start(at::Tensor tensor, bool mean) {
    require_summable(tensor);
    channel().throw_if_lost();
    if (worker_->failed()) worker_->wait(channel());  // throws
    if (tensor.numel() == 0) return;
    worker_->add([mesh = mesh_, tensor = std::move(tensor), mean] { mesh->combine(tensor, mean); });
  }

  std::shared_ptr<Mesh> mesh_ = std::make_shared<Mesh>();
  std::shared_ptr<Worker> worker_ = std::make_shared<Worker>();
  bool left_ = false;
};

}  // namespace

void require_gloo() {}

std::unique_ptr<Group> gloo_group(std::shared_ptr<ControlChannel> channel) {
  return std::make_unique<GlooGroup>(std::move(channel));
}

}  // namespace assay::engine

#else

namespace assay::engine {

void require_gloo() {
  throw Failure("unsupported", "this assay-engine was built without Gloo, so several ranks cannot train on the CPU",
                "Install Gloo's headers (Debian: libgloo-dev) and build it again, or use one rank.");
}

std::unique_ptr<Group> gloo_group(std::shared_ptr<ControlChannel>) {
  require_gloo();
  return nullptr;
}

}  // namespace assay::engine

#endif
