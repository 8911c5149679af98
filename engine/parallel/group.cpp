#include "parallel/group.h"

#include <utility>

#include "parallel/joined_group.h"
#include "parallel/sockets.h"

namespace assay::engine {
namespace {

class SingleGroup : public Group {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void start_sum(at::Tensor) override {}
  void start_mean(at::Tensor) override {}
  double finish() override { return 0; }
  void broadcast(at::Tensor) override {}
  std::vector<boost::json::value> gather(const boost::json::value& mine) override { return {mine}; }
  void leave() override {}
  void fail(const Failure&) noexcept override {}
};

}  // namespace

std::unique_ptr<Group> single_group() { return std::make_unique<SingleGroup>(); }

std::unique_ptr<Group> join_group(const RankPlace& place, at::Device device, ControlOptions options) {
  if (place.size == 1) {
    Fd(options.listening_fd).close();
    return single_group();
  }
  if (device.is_cuda()) {
    require_nccl();
  } else {
    require_gloo();
  }
  std::shared_ptr<ControlChannel> channel = ControlChannel::join(place, std::move(options));
  return device.is_cuda() ? nccl_group(std::move(channel), device) : gloo_group(std::move(channel));
}

}  // namespace assay::engine
