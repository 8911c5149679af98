#include "loadgen/mlperf_schedule.h"

#include <numeric>
#include <utility>

#include "base/assert.h"
#include "base/portable_math.h"

namespace assay {
namespace {

// A 64-bit seed is cut to the 32 bits that the generator takes, as a conversion to its result type does.
std::mt19937 generator(std::uint64_t seed) { return std::mt19937(static_cast<std::uint32_t>(seed)); }

std::uint32_t draw(std::mt19937& random) { return static_cast<std::uint32_t>(random()); }

/// 0 … bound−1 without bias, by multiplication (D. Lemire, "Fast random integer generation in an interval", 2019).
std::uint32_t draw_below(std::mt19937& random, std::uint32_t bound) {
  std::uint64_t product = std::uint64_t{draw(random)} * bound;
  if (static_cast<std::uint32_t>(product) < bound) {
    const std::uint32_t refused = (0u - bound) % bound;
    while (static_cast<std::uint32_t>(product) < refused) product = std::uint64_t{draw(random)} * bound;
  }
  return static_cast<std::uint32_t>(product >> 32);
}

/// libstdc++'s shuffle: forwards, and two positions from one random number as long as their product fits.
void shuffle_in_pairs(std::vector<std::uint32_t>& values, std::mt19937& random) {
  const std::size_t size = values.size();
  if (size < 2) return;
  constexpr std::uint64_t kLargest = 0xFFFFFFFFu;
  if (kLargest / size < size) {
    for (std::size_t i = 1; i < size; ++i)
      std::swap(values[i], values[draw_below(random, static_cast<std::uint32_t>(i + 1))]);
    return;
  }
  std::size_t i = 1;
  if (size % 2 == 0) {
    std::swap(values[1], values[draw_below(random, 2)]);
    i = 2;
  }
  while (i < size) {
    const auto range = static_cast<std::uint32_t>(i + 1);
    const std::uint32_t both = draw_below(random, range * (range + 1));
    std::swap(values[i], values[both / (range + 1)]);
    std::swap(values[i + 1], values[both % (range + 1)]);
    i += 2;
  }
}

std::vector<std::uint32_t> counting(std::size_t size) {
  std::vector<std::uint32_t> values(size);
  std::iota(values.begin(), values.end(), 0u);
  return values;
}

}  // namespace

MlperfServerArrivals::MlperfServerArrivals(double per_second, std::uint64_t schedule_seed)
    : random_(generator(schedule_seed)), rate_(per_second) {
  ASSAY_ASSERT(per_second > 0);
}

Nanos MlperfServerArrivals::next() noexcept {
  const Nanos at(at_ns_);
  const double low = draw(random_);
  const double high = draw(random_);
  double uniform = (low + high * 0x1p32) / 0x1p64;
  if (uniform >= 1) uniform = 1 - 0x1p-53;
  const double gap_s = -portable_log(1 - uniform) / rate_;
  at_ns_ += static_cast<std::int64_t>(gap_s * 1e9);
  return at;
}

MlperfSampleOrder::MlperfSampleOrder(const MlperfOrderOptions& options)
    : options_(options), random_(generator(options.seeds.sample)), loaded_(counting(options.performance_samples)) {
  ASSAY_ASSERT(options.performance_samples > 0 && options.samples_per_query > 0 && options.min_queries > 0);
  std::mt19937 loading = generator(options.seeds.qsl);
  shuffle_in_pairs(loaded_, loading);
  const bool multi = options.scenario == Scenario::multi_stream;
  const std::uint32_t stride = multi ? options.samples_per_query : 1;
  // The last query may start at the last sample: the set is continued from its beginning.
  for (std::uint32_t i = 0; i + 1 < stride; ++i) loaded_.push_back(loaded_[i % options.performance_samples]);
  // LoadGen makes an order of single samples and one of whole permutations from the same generator before it draws,
  // even where neither is used.
  auto singles = counting((options.performance_samples + stride - 1) / stride);
  shuffle_in_pairs(singles, random_);
  before_permutations_ = random_;
  permuted_ = counting(loaded_.size());
  if (options_.equal_issue) return;
  for (std::uint64_t made = 0; made < options_.min_queries; made += permuted_.size())
    shuffle_in_pairs(permuted_, random_);
}

std::uint32_t MlperfSampleOrder::start_of_query() noexcept {
  const std::uint64_t drawn = drawn_++;
  if (options_.scenario == Scenario::offline) return static_cast<std::uint32_t>(drawn % options_.performance_samples);
  if (!options_.equal_issue) return draw_below(random_, options_.performance_samples);
  const std::uint64_t rounds = (options_.min_queries + permuted_.size() - 1) / permuted_.size();
  if (drawn % (rounds * permuted_.size()) == 0) {
    random_ = before_permutations_;
    std::iota(permuted_.begin(), permuted_.end(), 0u);
  }
  if (drawn % permuted_.size() == 0) shuffle_in_pairs(permuted_, random_);
  return permuted_[drawn % permuted_.size()];
}

std::uint32_t MlperfSampleOrder::next() noexcept {
  if (options_.scenario != Scenario::multi_stream) return loaded_[start_of_query()];
  if (in_query_ == 0) query_start_ = start_of_query();
  const std::uint32_t sample = loaded_[(query_start_ + in_query_) % loaded_.size()];
  in_query_ = in_query_ + 1 == options_.samples_per_query ? 0 : in_query_ + 1;
  return sample;
}

}  // namespace assay
