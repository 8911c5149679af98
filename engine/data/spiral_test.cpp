#include "data/spiral.h"

#include <cmath>

#include "data/dataset_fixture.h"

namespace assay::engine {
namespace {

constexpr double kPi = 3.14159265358979323846;

TEST(Spiral, Pinned) {
  const Spiral spiral({});
  const Batch batch = samples_of(spiral, {0, 1, 9999});
  const std::vector<float> expected = {-0.656945F, -2.35016F, -2.98945F, 0.588742F, -3.15749F, 0.320019F};
  const auto points = values<float>(batch.inputs);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(points[i], expected[i], 1e-5) << i;
  EXPECT_EQ(integers(batch.targets), (std::vector<std::int64_t>{0, 1, 1}));
  EXPECT_EQ(digest(load_all(spiral)), 6620864760569413936u);
  EXPECT_NE(digest(load_all(Spiral({.seed = 2}))), digest(load_all(spiral)));
}

TEST(Spiral, PointsWithoutNoiseLieOnTheirArm) {
  const Spiral spiral({.samples = 300, .arms = 3, .noise = 0});
  const Batch all = load_all(spiral);
  const auto points = values<float>(all.inputs);
  const auto classes = integers(all.targets);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const double radius = std::hypot(points[2 * i], points[2 * i + 1]);
    const double way = (radius - 0.5) / 3.5;
    EXPECT_GE(way, -1e-6);
    EXPECT_LE(way, 1 + 1e-6);
    const double angle = 2 * kPi * (1.25 * way + static_cast<double>(classes[i]) / 3);
    EXPECT_NEAR(points[2 * i], radius * std::cos(angle), 1e-5);
    EXPECT_NEAR(points[2 * i + 1], radius * std::sin(angle), 1e-5);
  }
}

TEST(Spiral, NoiseHasItsStandardDeviation) {
  const Spiral quiet({.noise = 0});
  const Spiral noisy({.noise = 0.1});
  const auto before = values<float>(load_all(quiet).inputs);
  const auto after = values<float>(load_all(noisy).inputs);
  double squares = 0;
  for (std::size_t i = 0; i < before.size(); ++i) squares += std::pow(after[i] - before[i], 2);
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(before.size())), 0.1, 0.002);
}

TEST(Spiral, ClassesAreBalancedInBothParts) {
  const Spiral spiral({.samples = 1000, .arms = 4});
  const auto classes = integers(load_all(spiral).targets);
  std::vector<int> training(4, 0);
  std::vector<int> validation(4, 0);
  for (std::int64_t i = 0; i < 1000; ++i) {
    const bool train = i < spiral.training_samples(0.1);
    ++(train ? training : validation)[static_cast<std::size_t>(classes[static_cast<std::size_t>(i)])];
  }
  EXPECT_EQ(training, std::vector<int>(4, 225));
  EXPECT_EQ(validation, std::vector<int>(4, 25));
}

TEST(Spiral, TheNearestArmIsTheRightOneWithTheUsualNoise) {
  // The best classifier, nearly: the class of the nearest point of the arms without noise.
  const Spiral arms({.samples = 2000, .noise = 0});
  const Spiral noisy({.seed = 7, .samples = 2000, .noise = 0.1});
  const auto centre = values<float>(load_all(arms).inputs);
  const Batch all = load_all(noisy);
  const auto points = values<float>(all.inputs);
  const auto classes = integers(all.targets);
  int right = 0;
  for (std::size_t i = 0; i < 2000; ++i) {
    std::size_t nearest = 0;
    double least = 1e9;
    for (std::size_t k = 0; k < 2000; ++k) {
      const double distance =
          std::pow(points[2 * i] - centre[2 * k], 2) + std::pow(points[2 * i + 1] - centre[2 * k + 1], 2);
      if (distance < least) {
        least = distance;
        nearest = k;
      }
    }
    right += classes[i] == static_cast<std::int64_t>(nearest % 2) ? 1 : 0;
  }
  EXPECT_GE(right, 1998);
}

TEST(Spiral, SaysWhatItIs) { EXPECT_EQ(Spiral({}).description(), "spiral, 10,000 samples, 2 arms, noise 0.1"); }

}  // namespace
}  // namespace assay::engine
