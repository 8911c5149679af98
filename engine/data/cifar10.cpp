#include "data/cifar10.h"

#include <algorithm>
#include <filesystem>

#include "data/batch_rows.h"
#include "data/describe.h"
#include "formats/failure.h"

namespace assay::engine {
namespace {

constexpr std::size_t kPixels = 32 * 32;
constexpr std::size_t kRecordBytes = 1 + 3 * kPixels;
constexpr int kClasses = 10;

std::string folder_with_the_files(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw Failure("missing_file", "the CIFAR-10 folder '" + folder + "' does not exist",
                  "Unpack cifar-10-binary.tar.gz there.");
  }
  const std::string inner = folder + "/cifar-10-batches-bin";
  const bool unpacked_here =
      !std::filesystem::exists(folder + "/data_batch_1.bin", error) && std::filesystem::is_directory(inner, error);
  return unpacked_here ? inner : folder;
}

}  // namespace

Cifar10::Cifar10(const std::string& folder, std::optional<std::int64_t> samples)
    : folder_(folder_with_the_files(folder)),
      shape_{.kind = DataShape::Kind::images, .image_size = 32, .classes = kClasses} {
  for (int i = 1; i <= 5; ++i) add_file(folder_ + "/data_batch_" + std::to_string(i) + ".bin");
  const std::int64_t training = this->samples();
  add_file(folder_ + "/test_batch.bin");
  test_samples_ = this->samples() - training;
  if (samples) keep(*samples);
}

void Cifar10::add_file(const std::string& path) {
  const auto bytes = files_.emplace_back(path).bytes();
  if (bytes.empty() || bytes.size() % kRecordBytes != 0) {
    throw Failure("bad_file",
                  "the CIFAR-10 file '" + path + "' has " + grouped(std::ssize(bytes)) +
                      " bytes, which is no whole number of records of " + grouped(kRecordBytes),
                  "It may be cut off, or not be the binary version.");
  }
  for (std::size_t at = 0; at < bytes.size(); at += kRecordBytes) {
    const int label = std::to_integer<int>(bytes[at]);
    if (label >= kClasses) {
      throw Failure("bad_file", "the CIFAR-10 file '" + path + "' has the label " + std::to_string(label) +
                                    " in record " + grouped(static_cast<std::int64_t>(at / kRecordBytes)) +
                                    "; labels are 0 to 9");
    }
    records_.push_back(&bytes[at]);
  }
}

void Cifar10::keep(std::int64_t samples) {
  const std::int64_t available = this->samples();
  if (samples > available) {
    throw Failure("bad_spec", "'dataset.samples' is " + grouped(samples) + ", but the CIFAR-10 folder '" + folder_ +
                                  "' has only " + grouped(available));
  }
  const std::int64_t training = available - test_samples_;
  // Rounded down, so that at least one is left to train with.
  const std::int64_t kept_tests = samples * test_samples_ / available;
  const std::int64_t kept_training = samples - kept_tests;
  records_.erase(records_.begin() + training + kept_tests, records_.end());
  records_.erase(records_.begin() + kept_training, records_.begin() + training);
  test_samples_ = kept_tests;
}

void Cifar10::fill(std::span<const std::int64_t> indices, Batch& batch) const {
  BatchRows<std::uint8_t> rows(shape_, batch, indices.size());
  for (std::size_t row = 0; row < indices.size(); ++row) {
    const std::byte* record = records_[static_cast<std::size_t>(indices[row])];
    rows.targets(row)[0] = std::to_integer<std::int64_t>(record[0]);
    const std::byte* planes = record + 1;
    std::byte* pixels = std::as_writable_bytes(rows.inputs(row)).data();
    for (std::size_t i = 0; i < kPixels; ++i) {
      pixels[3 * i] = planes[i];
      pixels[3 * i + 1] = planes[kPixels + i];
      pixels[3 * i + 2] = planes[2 * kPixels + i];
    }
  }
}

std::string Cifar10::description() const {
  return "cifar10 '" + folder_ + "', " + grouped(samples() - test_samples_) + " training and " +
         grouped(test_samples_) + " test images";
}

}  // namespace assay::engine
