#include <cublasLt.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "kernels/device.cuh"

// Matrix products by cuBLASLt. Its first proposal for a shape is not its fastest one: for GPT-2's products on an H200
// it is up to a quarter slower, so each is tried once.

namespace assay::engine::kernels {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;
constexpr int kMostWays = 8;
constexpr int kRounds = 5;
constexpr std::uintptr_t kFullAlignment = 256;

/// The functions of the cuBLASLt that LibTorch has loaded and its libcublas calls. The linker would find the toolkit's
/// own, which may be another version, and both would end up using that.
struct Library {
#define ASSAY_FUNCTION(name) decltype(::name)* name = reinterpret_cast<decltype(::name)*>(dlsym(RTLD_DEFAULT, #name))
  ASSAY_FUNCTION(cublasLtCreate);
  ASSAY_FUNCTION(cublasLtGetStatusString);
  ASSAY_FUNCTION(cublasLtMatmul);
  ASSAY_FUNCTION(cublasLtMatmulAlgoGetHeuristic);
  ASSAY_FUNCTION(cublasLtMatmulDescCreate);
  ASSAY_FUNCTION(cublasLtMatmulDescSetAttribute);
  ASSAY_FUNCTION(cublasLtMatmulPreferenceCreate);
  ASSAY_FUNCTION(cublasLtMatmulPreferenceDestroy);
  ASSAY_FUNCTION(cublasLtMatmulPreferenceSetAttribute);
  ASSAY_FUNCTION(cublasLtMatrixLayoutCreate);
#undef ASSAY_FUNCTION

  bool is_there() const {
    return cublasLtCreate && cublasLtGetStatusString && cublasLtMatmul && cublasLtMatmulAlgoGetHeuristic &&
           cublasLtMatmulDescCreate && cublasLtMatmulDescSetAttribute && cublasLtMatmulPreferenceCreate &&
           cublasLtMatmulPreferenceDestroy && cublasLtMatmulPreferenceSetAttribute && cublasLtMatrixLayoutCreate;
  }
};

const Library& library() {
  static const Library loaded;
  return loaded;
}

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error(std::string(what) + ": " + library().cublasLtGetStatusString(status));
  }
}
void check(cudaError_t code, const char* what) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(code));
}

struct Event {
  cudaEvent_t value{};
  Event() { check(cudaEventCreate(&value), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(value); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
};

template <typename T>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  check(library().cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value), "cublasLtMatmulDesc");
}
template <typename T>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
  check(library().cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
        "cublasLtMatmulPreference");
}

cudaDataType_t data_type(Type type) { return type == Type::bf16 ? CUDA_R_16BF : CUDA_R_16F; }

cublasLtEpilogue_t epilogue(const Product& call) {
  if (call.before_gelu) return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  return call.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

bool is_fully_aligned(const Product& call) {
  const std::array<const void*, 5> pointers = {call.a.data, call.b.data, call.c, call.bias, call.before_gelu};
  return std::all_of(pointers.begin(), pointers.end(), [](const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % kFullAlignment == 0;
  });
}

/// One shape of product on one device, for as long as the process lives. cuBLASLt counts columns first: there it is
/// cᵀ = bᵀ · aᵀ.
class Plan {
 public:
  Plan(const Product& call, cublasLtHandle_t handle, void* workspace) : handle_(handle), workspace_(workspace) {
    check(library().cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    set(operation_, CUBLASLT_MATMUL_DESC_TRANSA, call.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(operation_, CUBLASLT_MATMUL_DESC_TRANSB, call.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue(call));
    if (call.before_gelu) set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, call.c_stride);
    describe(a_, call.b, call.n, call.k, call.type);
    describe(b_, call.a, call.k, call.m, call.type);
    describe(c_, {call.c, call.c_stride, false}, call.n, call.m, call.type);
    find_ways(call);
  }

  bool has_way() const { return !ways_.empty(); }

  /// Times all ways and leaves the fastest. What `call` adds to is not touched.
  void tune(const Product& call, cudaStream_t stream) {
    Product trial = call;
    void* elsewhere = nullptr;
    if (call.add) {
      const std::size_t bytes = static_cast<std::size_t>(call.m * call.c_stride) * sizeof(std::uint16_t);
      if (cudaMalloc(&elsewhere, bytes) != cudaSuccess) {
        cudaGetLastError();  // no memory to try in: the first proposal it is
        return;
      }
      trial.c = elsewhere;
    }
    std::vector<float> fastest(ways_.size(), std::numeric_limits<float>::max());
    for (int round = 0; round <= kRounds; ++round) {
      for (std::size_t way = 0; way < ways_.size(); ++way) {
        const float took = time(trial, ways_[way], stream);
        if (round > 0) fastest[way] = std::min(fastest[way], took);  // the first round loads code
      }
    }
    if (elsewhere) check(cudaFree(elsewhere), "cudaFree");
    const auto best = std::min_element(fastest.begin(), fastest.end()) - fastest.begin();
    ways_ = {ways_[static_cast<std::size_t>(best)]};
  }

  void run(const Product& call, cudaStream_t stream) { run(call, ways_.front(), stream); }

 private:
  static void describe(cublasLtMatrixLayout_t& layout, const Product::Factor& factor, std::int64_t rows,
                       std::int64_t columns, Type type) {
    check(library().cublasLtMatrixLayoutCreate(&layout, data_type(type), factor.transposed ? columns : rows,
                                               factor.transposed ? rows : columns, factor.stride),
          "cublasLtMatrixLayoutCreate");
  }

  void find_ways(const Product& call) {
    cublasLtMatmulPreference_t preference{};
    check(library().cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
    if (!is_fully_aligned(call)) {
      for (const auto attribute :
           {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
        set(preference, attribute, std::uint32_t{16});
      }
    }
    point_to(call);
    std::array<cublasLtMatmulHeuristicResult_t, kMostWays> found{};
    int count = 0;
    const cublasStatus_t status = library().cublasLtMatmulAlgoGetHeuristic(handle_, operation_, a_, b_, c_, c_,
                                                                           preference, kMostWays, found.data(), &count);
    library().cublasLtMatmulPreferenceDestroy(preference);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) check(status, "cublasLtMatmulAlgoGetHeuristic");
    for (int i = 0; i < count; ++i) ways_.push_back(found[static_cast<std::size_t>(i)].algo);
  }

  void point_to(const Product& call) {
    if (call.bias) set(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, call.bias);
    if (call.before_gelu) set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, call.before_gelu);
  }

  void run(const Product& call, const cublasLtMatmulAlgo_t& way, cudaStream_t stream) {
    point_to(call);
    const float one = 1;
    const float own = call.add ? 1 : 0;
    check(library().cublasLtMatmul(handle_, operation_, &one, call.b.data, a_, call.a.data, b_, &own, call.c, c_,
                                   call.c, c_, &way, workspace_, kWorkspaceBytes, stream),
          "cublasLtMatmul");
  }

  float time(const Product& call, const cublasLtMatmulAlgo_t& way, cudaStream_t stream) {
    const Event begin;
    const Event end;
    check(cudaEventRecord(begin.value, stream), "cudaEventRecord");
    run(call, way, stream);
    check(cudaEventRecord(end.value, stream), "cudaEventRecord");
    check(cudaEventSynchronize(end.value), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.value, end.value), "cudaEventElapsedTime");
    return milliseconds;
  }

  cublasLtHandle_t handle_;
  void* workspace_;
  cublasLtMatmulDesc_t operation_{};
  cublasLtMatrixLayout_t a_{};
  cublasLtMatrixLayout_t b_{};
  cublasLtMatrixLayout_t c_{};
  std::vector<cublasLtMatmulAlgo_t> ways_;
};

using Shape = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, bool,
                         bool, bool, int, Type>;

Shape shape_of(const Product& call) {
  return {call.m,
          call.n,
          call.k,
          call.a.stride,
          call.b.stride,
          call.c_stride,
          call.a.transposed,
          call.b.transposed,
          call.add,
          is_fully_aligned(call),
          epilogue(call),
          call.type};
}

/// Everything that one device needs; lives as long as the process, since CUDA may be gone when its statics are.
struct Device {
  cublasLtHandle_t handle{};
  void* workspace = nullptr;
  std::map<Shape, std::unique_ptr<Plan>> plans;
};

Device& current_device() {
  static auto& devices = *new std::map<int, Device>();
  int index = 0;
  check(cudaGetDevice(&index), "cudaGetDevice");
  return devices[index];
}

bool is_recorded(cudaStream_t stream) {
  cudaStreamCaptureStatus status{};
  check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace

bool product(const Product& call, cudaStream_t stream) {
  if (!library().is_there()) return false;
  static auto& mutex = *new std::mutex();
  const std::lock_guard lock(mutex);
  Device& device = current_device();
  const bool recorded = is_recorded(stream);
  if (!device.handle) {
    if (recorded) return false;  // memory cannot be had now
    check(cudaMalloc(&device.workspace, kWorkspaceBytes), "cudaMalloc");
    check(library().cublasLtCreate(&device.handle), "cublasLtCreate");
  }
  auto& plan = device.plans[shape_of(call)];
  if (!plan) {
    plan = std::make_unique<Plan>(call, device.handle, device.workspace);
    if (plan->has_way() && !recorded) plan->tune(call, stream);
  }
  if (!plan->has_way()) return false;
  plan->run(call, stream);
  return true;
}

}  // namespace assay::engine::kernels
