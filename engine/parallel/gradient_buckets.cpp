#include "parallel/gradient_buckets.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value_to.hpp>
#include <exception>
#include <functional>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace assay::engine {
namespace {

/// Calls a function after a gradient was added to.
class AfterAccumulation : public torch::autograd::FunctionPostHook {
 public:
  explicit AfterAccumulation(std::function<void()> call) : call_(std::move(call)) {}

  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    call_();
    return outputs;
  }

 private:
  std::function<void()> call_;
};

using Accumulator = decltype(torch::autograd::impl::grad_accumulator(std::declval<const at::Tensor&>()));

struct Bucket {
  at::Tensor gradients;
  std::size_t incomplete = 0;  ///< of its parameters, in this pass
  std::int64_t last_seen = 0;  ///< when its last gradient came, counted in gradients
  bool gone = false;
};

struct Source {
  std::size_t bucket = 0;
  int expected = 0;  ///< additions in one pass
  int seen = 0;
  Accumulator accumulator;  ///< the parameter itself does not keep it alive
  std::uintptr_t hook = 0;
};

void require_gradient_in_arena(const Arena& arena, const Arena::Slice& slice) {
  const at::Tensor& gradient = slice.parameter->value.grad();
  const auto* begin = static_cast<const char*>(arena.grad.data_ptr());
  const auto offset = slice.offset * static_cast<std::int64_t>(arena.grad.element_size());
  if (!gradient.defined() || static_cast<const char*>(gradient.data_ptr()) != begin + offset) {
    throw std::logic_error("the gradient of " + slice.parameter->name() + " is not in its arena");
  }
}

}  // namespace

struct GradientBuckets::State {
  explicit State(Group& its_group) : group(its_group) {}

  void cut(Arena& arena, std::int64_t bucket_bytes);
  void add_hook(const Parameter& parameter, std::size_t source);
  void gradient_came(std::size_t source);
  void send_ready();
  void learn();

  Group& group;
  std::vector<Bucket> buckets;
  std::vector<Source> sources;
  std::vector<std::size_t> order;  ///< of buckets; empty until learnt
  std::size_t next = 0;            ///< position in `order`
  std::size_t left_early = 0;
  bool communicate = false;
  std::int64_t came = 0;
  std::exception_ptr problem;
  std::mutex mutex;  // parameters of several devices have their hooks on several threads
};

void GradientBuckets::State::cut(Arena& arena, std::int64_t bucket_bytes) {
  const auto element_bytes = static_cast<std::int64_t>(arena.grad.element_size());
  std::int64_t end = arena.grad.numel();
  // Takes slices from the back until the bucket is full. Gaps between slices travel along.
  for (std::size_t i = arena.slices.size(); i-- > 0;) {
    const Arena::Slice& slice = arena.slices[i];
    require_gradient_in_arena(arena, slice);
    sources.push_back({.bucket = buckets.size()});
    add_hook(*slice.parameter, sources.size() - 1);
    if ((end - slice.offset) * element_bytes < bucket_bytes && i > 0) continue;
    const std::int64_t begin = i == 0 ? 0 : slice.offset;
    buckets.push_back({.gradients = arena.grad.narrow(0, begin, end - begin)});
    end = begin;
  }
}

void GradientBuckets::State::add_hook(const Parameter& parameter, std::size_t source) {
  auto accumulator = torch::autograd::impl::grad_accumulator(parameter.value);
  if (!accumulator) throw std::logic_error(parameter.name() + " needs no gradient");
  sources[source].hook =
      accumulator->add_post_hook(std::make_unique<AfterAccumulation>([this, source] { gradient_came(source); }));
  sources[source].accumulator = std::move(accumulator);
}

void GradientBuckets::State::gradient_came(std::size_t index) {
  const std::lock_guard lock(mutex);
  if (!communicate || problem) return;
  Source& source = sources[index];
  Bucket& bucket = buckets[source.bucket];
  ++source.seen;
  bucket.last_seen = ++came;
  try {
    if (bucket.gone) {
      throw std::logic_error("a gradient came after its bucket had left: this pass of the model is unlike its first");
    }
    if (source.seen != source.expected) return;
    --bucket.incomplete;
    send_ready();
  } catch (...) {
    problem = std::current_exception();  // thrown by `finish`, so that autograd need not be unwound
  }
}

void GradientBuckets::State::send_ready() {
  while (next < order.size() && buckets[order[next]].incomplete == 0) {
    Bucket& bucket = buckets[order[next++]];
    bucket.gone = true;
    group.start_mean(bucket.gradients);
    ++left_early;
  }
}

void GradientBuckets::State::learn() {
  for (auto& source : sources) source.expected = source.seen;
  std::vector<std::size_t> mine(buckets.size());
  std::iota(mine.begin(), mine.end(), std::size_t{0});
  for (auto& bucket : buckets) {
    if (bucket.last_seen == 0) bucket.last_seen = came + 1;  // nothing came: last, where it holds up nobody
  }
  std::stable_sort(mine.begin(), mine.end(),
                   [&](std::size_t a, std::size_t b) { return buckets[a].last_seen < buckets[b].last_seen; });
  const auto everybodys = group.gather(boost::json::array(mine.begin(), mine.end()));
  order = boost::json::value_to<std::vector<std::size_t>>(everybodys.front());
  if (order.size() != buckets.size()) throw std::logic_error("the ranks train different models");
}

GradientBuckets::GradientBuckets(std::vector<Arena>& arenas, Group& group, std::int64_t bucket_bytes)
    : state_(std::make_unique<State>(group)) {
  if (group.size() == 1) return;
  for (auto& arena : arenas) state_->cut(arena, bucket_bytes);
}

GradientBuckets::~GradientBuckets() {
  for (const auto& source : state_->sources) {
    if (source.accumulator) source.accumulator->del_post_hook(source.hook);
  }
}

void GradientBuckets::prepare(bool communicate) {
  const std::lock_guard lock(state_->mutex);
  state_->communicate = communicate && !state_->buckets.empty();
  state_->next = 0;
  state_->left_early = 0;
  state_->came = 0;
  for (auto& bucket : state_->buckets) bucket = {.gradients = bucket.gradients};
  for (auto& source : state_->sources) {
    source.seen = 0;
    if (source.expected > 0) ++state_->buckets[source.bucket].incomplete;
  }
}

double GradientBuckets::finish() {
  const std::lock_guard lock(state_->mutex);
  if (state_->problem) std::rethrow_exception(state_->problem);
  if (!state_->communicate) return 0;
  state_->communicate = false;
  if (state_->order.empty()) state_->learn();
  for (; state_->next < state_->order.size(); ++state_->next) {
    Bucket& bucket = state_->buckets[state_->order[state_->next]];
    bucket.gone = true;
    state_->group.start_mean(bucket.gradients);
  }
  return state_->group.finish();
}

std::size_t GradientBuckets::count() const { return state_->buckets.size(); }
std::size_t GradientBuckets::left_early() const { return state_->left_early; }

}  // namespace assay::engine
