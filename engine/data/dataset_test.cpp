#include "data/dataset.h"

#include "data/dataset_fixture.h"
#include "data/describe.h"
#include "data/spiral.h"
#include "data/synthetic_images.h"
#include "data/synthetic_tokens.h"

namespace assay::engine {
namespace {

TEST(Describe, GroupsThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(grouped(-1234), "-1,234");
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(0), "0");
}

TEST(AllocateBatch, HasTheShapesThatTheHeaderPromises) {
  const Batch vectors = allocate_batch({.kind = DataShape::Kind::vectors, .features = 2, .classes = 3}, 5, false);
  EXPECT_EQ(vectors.inputs.sizes(), (std::vector<std::int64_t>{5, 2}));
  EXPECT_EQ(vectors.inputs.scalar_type(), at::kFloat);
  EXPECT_EQ(vectors.targets.sizes(), (std::vector<std::int64_t>{5}));
  EXPECT_EQ(vectors.targets.scalar_type(), at::kLong);

  const Batch images = allocate_batch({.kind = DataShape::Kind::images, .image_size = 32, .classes = 10}, 4, false);
  EXPECT_EQ(images.inputs.sizes(), (std::vector<std::int64_t>{4, 32, 32, 3}));
  EXPECT_EQ(images.inputs.scalar_type(), at::kByte);
  EXPECT_EQ(images.targets.sizes(), (std::vector<std::int64_t>{4}));

  const Batch tokens = allocate_batch({.kind = DataShape::Kind::tokens, .vocabulary = 9, .seq_length = 7}, 3, false);
  EXPECT_EQ(tokens.inputs.sizes(), (std::vector<std::int64_t>{3, 7}));
  EXPECT_EQ(tokens.inputs.scalar_type(), at::kLong);
  EXPECT_EQ(tokens.targets.sizes(), (std::vector<std::int64_t>{3, 7}));
}

TEST(AllocateBatch, PinnedIsGrantedWithoutCudaToo) {
  // Plain memory then: there is nobody to copy to.
  EXPECT_EQ(allocate_batch({.features = 2}, 5, true).inputs.numel(), 10);
}

TEST(DataShape, CountsTheBytesOfABatch) {
  const std::vector<DataShape> shapes = {{.kind = DataShape::Kind::vectors, .features = 2},
                                         {.kind = DataShape::Kind::images, .image_size = 32},
                                         {.kind = DataShape::Kind::tokens, .seq_length = 7}};
  for (const auto& shape : shapes) {
    const Batch batch = allocate_batch(shape, 3, false);
    EXPECT_EQ(static_cast<std::int64_t>(batch.inputs.nbytes() + batch.targets.nbytes()), 3 * shape.bytes_per_sample());
  }
}

TEST(Dataset, SharesOutTheValidationSamples) {
  const Spiral hundred({.samples = 100});
  EXPECT_EQ(hundred.validation_samples(0), 0);
  EXPECT_EQ(hundred.validation_samples(0.1), 10);
  EXPECT_EQ(hundred.validation_samples(0.29), 29) << "0.29 · 100 is a little less than 29 in floating point";
  EXPECT_EQ(hundred.validation_samples(0.0001), 1) << "asked for, so not none";
  EXPECT_EQ(hundred.validation_samples(0.9999), 99) << "something is left to train with";
  EXPECT_EQ(hundred.training_samples(0.1), 90);
  EXPECT_EQ(Spiral({.samples = 1}).validation_samples(0.5), 0);
}

TEST(LoadAll, HasEverySampleInItsRow) {
  const SyntheticTokens dataset({.samples = 23, .vocabulary = 50, .seq_length = 9});
  const Batch all = load_all(dataset);
  ASSERT_EQ(all.inputs.size(0), 23);
  for (const std::int64_t index : {0, 7, 22}) {
    const Batch one = samples_of(dataset, {index});
    EXPECT_EQ(integers(all.inputs[index]), integers(one.inputs));
    EXPECT_EQ(integers(all.targets[index]), integers(one.targets));
  }
}

TEST(Dataset, FillLeavesOtherRowsAlone) {
  const SyntheticImages dataset({.classes = 4, .image_size = 8});
  Batch batch = allocate_batch(dataset.shape(), 3, false);
  batch.inputs.fill_(200);
  batch.targets.fill_(77);
  Batch middle = {batch.inputs.narrow(0, 1, 1), batch.targets.narrow(0, 1, 1)};
  dataset.fill(std::vector<std::int64_t>{5}, middle);
  EXPECT_EQ(integers(batch.targets), (std::vector<std::int64_t>{77, 1, 77}));
  const std::vector<std::uint8_t> untouched(8 * 8 * 3, 200);
  EXPECT_EQ(values<std::uint8_t>(batch.inputs[0]), untouched);
  EXPECT_EQ(values<std::uint8_t>(batch.inputs[2]), untouched);
}

}  // namespace
}  // namespace assay::engine
