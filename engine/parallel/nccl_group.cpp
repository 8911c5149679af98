#include "parallel/joined_group.h"

#ifdef ASSAY_ENGINE_NCCL

#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstring>
#include <string>

#include "parallel/message_stream.h"

namespace assay::engine {
namespace {

void cuda_check(cudaError_t code, const char* what) {
  if (code != cudaSuccess) throw Failure("crash", std::string(what) + ": " + cudaGetErrorString(code));
}

ncclDataType_t nccl_type_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat: return ncclFloat32;
    case at::kDouble: return ncclFloat64;
    case at::kHalf: return ncclFloat16;
    case at::kBFloat16: return ncclBfloat16;
    default: throw std::invalid_argument("no sums over ranks in this number format");
  }
}

/// Orders work of one stream after that of another.
class Event {
 public:
  Event() { cuda_check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }

  void order(const c10::cuda::CUDAStream& first, const c10::cuda::CUDAStream& then) {
    cuda_check(cudaEventRecord(event_, first.stream()), "cudaEventRecord");
    cuda_check(cudaStreamWaitEvent(then.stream(), event_, 0), "cudaStreamWaitEvent");
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Collectives on a stream of their own. The host never waits in here, save while joining; if it waits elsewhere for
/// a stream that waits for a dead peer, the control channel's `when_stuck` ends the process.
class NcclGroup : public JoinedGroup {
 public:
  NcclGroup(std::shared_ptr<ControlChannel> channel, at::Device device)
      : JoinedGroup(std::move(channel)),
        device_(device),
        stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device.index())) {
    ncclUniqueId id;
    if (rank() == 0) {
      check(ncclGetUniqueId(&id), "ncclGetUniqueId");
      this->channel().put("nccl", hex_of(&id, sizeof(id)));
    } else {
      const std::vector<char> bytes = bytes_from(this->channel().get("nccl"));
      if (bytes.size() != sizeof(id)) throw Failure("unsupported", "the ranks have different versions of NCCL");
      std::memcpy(&id, bytes.data(), sizeof(id));
    }
    check(ncclCommInitRank(&communicator_, size(), id, rank()), "ncclCommInitRank");
  }

  ~NcclGroup() override {
    const c10::cuda::CUDAGuard guard(device_);
    // Destroying waits for the others; aborting also ends the kernels that wait for a dead one.
    if (left_) {
      ncclCommDestroy(communicator_);
    } else {
      ncclCommAbort(communicator_);
    }
  }

  void start_sum(at::Tensor tensor) override { start(tensor, ncclSum); }
  void start_mean(at::Tensor tensor) override { start(tensor, ncclAvg); }

  double finish() override {
    channel().throw_if_lost();
    const c10::cuda::CUDAGuard guard(device_);
    done_.order(stream_, c10::cuda::getCurrentCUDAStream(device_.index()));
    return 0;
  }

  void broadcast(at::Tensor tensor) override {
    require_contiguous(tensor);
    begin();
    const c10::cuda::CUDAGuard guard(device_);
    check(ncclBroadcast(tensor.data_ptr(), tensor.data_ptr(), tensor.nbytes(), ncclInt8, 0, communicator_,
                        stream_.stream()),
          "ncclBroadcast");
    finish();
  }

  void leave() override {
    finish();
    // Before the others may go: what they still have to send us must have arrived.
    cuda_check(cudaStreamSynchronize(stream_.stream()), "cudaStreamSynchronize");
    channel().leave();
    left_ = true;
  }

 private:
  void check(ncclResult_t code, const char* what) {
    if (code == ncclSuccess) return;
    const std::string message = std::string(what) + ": " + ncclGetErrorString(code);
    if (code == ncclRemoteError || code == ncclSystemError) channel().throw_loss(message);
    throw Failure("crash", message, "NCCL_DEBUG=INFO makes NCCL say more.");
  }

  /// What the current stream was told to compute comes first.
  void begin() {
    channel().throw_if_lost();
    ncclResult_t state = ncclSuccess;
    check(ncclCommGetAsyncError(communicator_, &state), "ncclCommGetAsyncError");
    check(state, "NCCL");
    const c10::cuda::CUDAGuard guard(device_);
    ready_.order(c10::cuda::getCurrentCUDAStream(device_.index()), stream_);
  }

  void start(const at::Tensor& tensor, ncclRedOp_t operation) {
    require_summable(tensor);
    begin();
    const c10::cuda::CUDAGuard guard(device_);
    check(ncclAllReduce(tensor.data_ptr(), tensor.data_ptr(), static_cast<std::size_t>(tensor.numel()),
                        nccl_type_of(tensor), operation, communicator_, stream_.stream()),
          "ncclAllReduce");
  }

  at::Device device_;
  c10::cuda::CUDAStream stream_;
  Event ready_;
  Event done_;
  ncclComm_t communicator_ = nullptr;
  bool left_ = false;
};

}  // namespace

void require_nccl() {}

std::unique_ptr<Group> nccl_group(std::shared_ptr<ControlChannel> channel, at::Device device) {
  const c10::cuda::CUDAGuard guard(device);  // NCCL and events belong to the device that is current when they are made
  return std::make_unique<NcclGroup>(std::move(channel), device);
}

}  // namespace assay::engine

#else

namespace assay::engine {

void require_nccl() {
  throw Failure("unsupported", "this assay-engine was built without NCCL, so several ranks cannot train on GPUs",
                "Build it where nccl.h and libnccl.so.2 are found (both come with PyTorch), or use one rank.");
}

std::unique_ptr<Group> nccl_group(std::shared_ptr<ControlChannel>, at::Device) {
  require_nccl();
  return nullptr;
}

}  // namespace assay::engine

#endif
