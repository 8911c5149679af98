#include "data/cifar10.h"

#include "data/dataset_fixture.h"

namespace assay::engine {
namespace {

constexpr std::size_t kRecord = 3073;

/// Records whose label is `first_label` + i and whose planes are 3i, 3i + 1 and 3i + 2, but for the pixel (1, 2).
std::string records(int first_label, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    bytes += static_cast<char>((first_label + i) % 10);
    for (int plane = 0; plane < 3; ++plane) {
      std::string values(1024, static_cast<char>(3 * i + plane));
      values[32 * 1 + 2] = static_cast<char>(200 + plane);
      bytes += values;
    }
  }
  return bytes;
}

void write_all(const TemporaryFolder& folder, int training_per_file, int test) {
  for (int i = 1; i <= 5; ++i) {
    folder.write("data_batch_" + std::to_string(i) + ".bin", records(i, training_per_file));
  }
  folder.write("test_batch.bin", records(9, test));
}

TEST(Cifar10, TheTestFileIsTheValidationPart) {
  const TemporaryFolder folder;
  write_all(folder, 4, 3);
  const Cifar10 cifar(folder.path());
  EXPECT_EQ(cifar.samples(), 23);
  EXPECT_EQ(cifar.validation_samples(0), 3);
  EXPECT_EQ(cifar.validation_samples(0.5), 3);
  EXPECT_EQ(cifar.shape().classes, 10);
  EXPECT_EQ(cifar.shape().image_size, 32);
  const auto labels = integers(load_all(cifar).targets);
  EXPECT_EQ(labels[0], 1);
  EXPECT_EQ(labels[4], 2) << "the first of the second file";
  EXPECT_EQ(labels[20], 9) << "the first test image";
  EXPECT_EQ(labels[21], 0);
}

TEST(Cifar10, PlanesBecomePixels) {
  const TemporaryFolder folder;
  write_all(folder, 2, 1);
  const auto pixels = values<std::uint8_t>(samples_of(Cifar10(folder.path()), {1}).inputs);
  EXPECT_EQ(std::vector<int>(pixels.begin(), pixels.begin() + 6), (std::vector<int>{3, 4, 5, 3, 4, 5}));
  const auto special = pixels.begin() + (32 * 1 + 2) * 3;
  EXPECT_EQ(std::vector<int>(special, special + 4), (std::vector<int>{200, 201, 202, 3}));
}

TEST(Cifar10, FindsTheFolderOfTheArchive) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() + "/cifar-10-batches-bin");
  for (int i = 1; i <= 5; ++i) {
    folder.write("cifar-10-batches-bin/data_batch_" + std::to_string(i) + ".bin", records(0, 1));
  }
  folder.write("cifar-10-batches-bin/test_batch.bin", records(0, 1));
  EXPECT_EQ(Cifar10(folder.path()).samples(), 6);
}

TEST(Cifar10, SamplesKeepTheProportionOfTheParts) {
  const TemporaryFolder folder;
  write_all(folder, 4, 4);
  const Cifar10 some(folder.path(), 12);
  EXPECT_EQ(some.samples(), 12);
  EXPECT_EQ(some.validation_samples(0.1), 2);
  const auto labels = integers(load_all(some).targets);
  EXPECT_EQ(labels[9], 4) << "the second of the third file";
  EXPECT_EQ(labels[10], 9) << "the first test image";
  EXPECT_EQ(Cifar10(folder.path(), 1).training_samples(0.1), 1);
  EXPECT_EQ(Cifar10(folder.path(), 24).samples(), 24);
  EXPECT_EQ(failure_of([&] { Cifar10(folder.path(), 25); }).kind(), "bad_spec");
}

TEST(Cifar10, MissingThingsAreNamed) {
  const TemporaryFolder folder;
  const Failure no_folder = failure_of([&] { Cifar10(folder.path() + "/nowhere"); });
  EXPECT_EQ(no_folder.kind(), "missing_file");
  EXPECT_NE(std::string(no_folder.what()).find("/nowhere"), std::string::npos);

  write_all(folder, 1, 1);
  std::filesystem::remove(folder.path() + "/data_batch_3.bin");
  const Failure no_file = failure_of([&] { Cifar10(folder.path()); });
  EXPECT_EQ(no_file.kind(), "missing_file");
  EXPECT_NE(std::string(no_file.what()).find("data_batch_3.bin"), std::string::npos);
}

TEST(Cifar10, DamagedFilesAreNamed) {
  const TemporaryFolder folder;
  const auto failure_with = [&](const std::string& content) {
    write_all(folder, 2, 2);
    folder.write("data_batch_4.bin", content);
    return failure_of([&] { Cifar10(folder.path()); });
  };
  std::string wrong_label = records(0, 2);
  wrong_label[kRecord] = 10;
  for (const std::string& content :
       {std::string(), records(0, 2).substr(0, 2 * kRecord - 1), records(0, 2) + "x", wrong_label}) {
    const Failure failure = failure_with(content);
    EXPECT_EQ(failure.kind(), "bad_file") << content.size();
    EXPECT_NE(std::string(failure.what()).find("data_batch_4.bin"), std::string::npos) << failure.what();
  }
  EXPECT_NE(std::string(failure_with(wrong_label).what()).find("label 10 in record 1"), std::string::npos);
}

}  // namespace
}  // namespace assay::engine
