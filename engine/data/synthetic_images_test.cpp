#include "data/synthetic_images.h"

#include <algorithm>
#include <numeric>

#include "data/dataset_fixture.h"

namespace assay::engine {
namespace {

/// Mean brightness of each of the 7 × 7 × 3 fields.
std::vector<double> fields_of(const std::vector<std::uint8_t>& pixels, std::size_t size) {
  std::vector<double> sums(7 * 7 * 3, 0.0);
  std::vector<double> counts(sums.size(), 0.0);
  for (std::size_t y = 0; y < size; ++y) {
    for (std::size_t x = 0; x < size * 3; ++x) {
      const std::size_t field = (y * 7 / size * 7 + x / 3 * 7 / size) * 3 + x % 3;
      sums[field] += pixels[y * size * 3 + x];
      ++counts[field];
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] /= counts[i];
  return sums;
}

TEST(SyntheticImages, Pinned) {
  const SyntheticImages images({});
  EXPECT_EQ(images.shape().image_size, 224);
  EXPECT_EQ(images.shape().classes, 1000);
  const Batch batch = samples_of(images, {0, 1, 9999});
  EXPECT_EQ(integers(batch.targets), (std::vector<std::int64_t>{0, 1, 999}));
  const auto pixels = values<std::uint8_t>(batch.inputs);
  EXPECT_EQ(std::vector<int>(pixels.begin(), pixels.begin() + 6), (std::vector<int>{46, 90, 35, 69, 77, 109}));
  EXPECT_EQ(digest(batch), 12611787996464795658u);
}

TEST(SyntheticImages, AClassHasAPatternThatAnotherHasNot) {
  const SyntheticImages images({.classes = 10, .image_size = 56});
  const Batch batch = samples_of(images, {3, 13, 4});
  const auto one = fields_of(values<std::uint8_t>(batch.inputs[0]), 56);
  const auto same_class = fields_of(values<std::uint8_t>(batch.inputs[1]), 56);
  const auto other_class = fields_of(values<std::uint8_t>(batch.inputs[2]), 56);
  double within = 0;
  double between = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    within = std::max(within, std::abs(one[i] - same_class[i]));
    between = std::max(between, std::abs(one[i] - other_class[i]));
  }
  // The mean of 64 noisy pixels varies by 37/8 or so.
  EXPECT_LT(within, 40);
  EXPECT_GT(between, 60);
  EXPECT_NE(values<std::uint8_t>(batch.inputs[0]), values<std::uint8_t>(batch.inputs[1])) << "the noise differs";
}

TEST(SyntheticImages, UseTheWholeRangeOfBrightness) {
  const auto pixels = values<std::uint8_t>(samples_of(SyntheticImages({}), {0, 1, 2, 3}).inputs);
  EXPECT_LT(*std::min_element(pixels.begin(), pixels.end()), 10);
  EXPECT_GT(*std::max_element(pixels.begin(), pixels.end()), 244);
  const double mean = std::accumulate(pixels.begin(), pixels.end(), 0.0) / static_cast<double>(pixels.size());
  EXPECT_NEAR(mean, 127, 12);
}

TEST(SyntheticImages, SizesThatEightDoesNotDivideArePaintedToTheEnd) {
  const SyntheticImages images({.classes = 3, .image_size = 5});
  Batch batch = allocate_batch(images.shape(), 1, false);
  batch.inputs.fill_(255);  // more than the greatest sum
  images.fill(std::vector<std::int64_t>{2}, batch);
  const auto pixels = values<std::uint8_t>(batch.inputs);
  EXPECT_LT(*std::max_element(pixels.begin(), pixels.end()), 255);
}

TEST(SyntheticImages, ValidationHasEveryClassEquallyOften) {
  const SyntheticImages images({.samples = 100, .classes = 5, .image_size = 7});
  const auto classes = integers(load_all(images).targets);
  for (std::int64_t label = 0; label < 5; ++label) EXPECT_EQ(std::count(classes.end() - 10, classes.end(), label), 2);
}

TEST(SyntheticImages, SaysWhatItIs) {
  EXPECT_EQ(SyntheticImages({}).description(), "synthetic-images, 10,000 samples of 3×224×224, 1,000 classes");
}

}  // namespace
}  // namespace assay::engine
