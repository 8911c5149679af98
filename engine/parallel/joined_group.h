#pragma once

#include <memory>
#include <stdexcept>
#include <utility>

#include "parallel/control_channel.h"
#include "parallel/group.h"

namespace assay::engine {

/// What the groups of several ranks have in common: everything but tensors goes through the control channel.
class JoinedGroup : public Group {
 public:
  explicit JoinedGroup(std::shared_ptr<ControlChannel> channel) : channel_(std::move(channel)) {}

  int rank() const override { return channel_->place().rank; }
  int size() const override { return channel_->place().size; }
  std::vector<boost::json::value> gather(const boost::json::value& mine) override { return channel_->gather(mine); }
  void fail(const Failure& failure) noexcept override { channel_->fail(failure); }

 protected:
  static void require_contiguous(const at::Tensor& tensor) {
    if (!tensor.is_contiguous()) throw std::invalid_argument("a tensor of a collective must be contiguous");
  }
  static void require_summable(const at::Tensor& tensor) {
    require_contiguous(tensor);
    if (!at::isFloatingType(tensor.scalar_type())) {
      throw std::invalid_argument("sums over ranks are for floating-point tensors");
    }
  }
  ControlChannel& channel() const { return *channel_; }
  const std::shared_ptr<ControlChannel>& shared_channel() const { return channel_; }

 private:
  std::shared_ptr<ControlChannel> channel_;
};

/// Throw Failure `unsupported` where this build lacks the library, before anybody is waited for.
void require_gloo();
void require_nccl();
std::unique_ptr<Group> gloo_group(std::shared_ptr<ControlChannel> channel);
std::unique_ptr<Group> nccl_group(std::shared_ptr<ControlChannel> channel, at::Device device);

}  // namespace assay::engine
