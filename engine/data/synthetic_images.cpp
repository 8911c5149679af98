#include "data/synthetic_images.h"

#include <cstring>

#include "data/batch_rows.h"
#include "data/describe.h"

namespace assay::engine {
namespace {

constexpr std::size_t kFields = 7;
constexpr std::size_t kPatternBytes = kFields * kFields * 3;
// Large against an image, so that two images rarely share much noise; small enough for the caches of a CPU.
constexpr std::size_t kNoiseStarts = 4 << 20;

std::vector<std::uint8_t> random_bytes_below_128(std::uint64_t seed, std::string_view purpose, std::size_t count) {
  Random random(seed, purpose);
  std::vector<std::uint8_t> bytes(count);
  for (std::size_t i = 0; i < count; i += 4) {
    const std::uint32_t bits = random.bits32();
    for (std::size_t k = 0; k < 4 && i + k < count; ++k)
      bytes[i + k] = static_cast<std::uint8_t>(bits >> (8 * k) & 127);
  }
  return bytes;
}

/// out = a + b, eight bytes at a time: both are below 128, so nothing is carried over to the next byte.
void add_bytes(const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    std::uint64_t left = 0;
    std::uint64_t right = 0;
    std::memcpy(&left, a + i, 8);
    std::memcpy(&right, b + i, 8);
    left += right;
    std::memcpy(out + i, &left, 8);
  }
  for (; i < count; ++i) out[i] = static_cast<std::uint8_t>(a[i] + b[i]);
}

}  // namespace

SyntheticImages::SyntheticImages(const Options& options)
    : shape_{.kind = DataShape::Kind::images, .image_size = options.image_size, .classes = options.classes},
      samples_(options.samples),
      random_(options.seed, "data.synthetic-images"),
      patterns_(random_bytes_below_128(options.seed, "data.synthetic-images.patterns",
                                       static_cast<std::size_t>(options.classes) * kPatternBytes)),
      noise_(random_bytes_below_128(options.seed, "data.synthetic-images.noise",
                                    kNoiseStarts + static_cast<std::size_t>(shape_.inputs_per_sample()))) {}

void SyntheticImages::paint(std::int64_t label, const std::uint8_t* noise, std::span<std::uint8_t> pixels) const {
  const auto size = static_cast<std::size_t>(shape_.image_size);
  const std::size_t line_bytes = size * 3;
  const std::uint8_t* pattern = patterns_.data() + static_cast<std::size_t>(label) * kPatternBytes;
  std::vector<std::uint8_t> line(line_bytes);
  std::size_t painted_fields = kFields;  // the row of fields that `line` shows; none yet
  for (std::size_t y = 0; y < size; ++y) {
    if (const std::size_t fields = y * kFields / size; fields != painted_fields) {
      painted_fields = fields;
      for (std::size_t x = 0; x < size; ++x) {
        std::memcpy(&line[x * 3], pattern + (fields * kFields + x * kFields / size) * 3, 3);
      }
    }
    add_bytes(line.data(), noise + y * line_bytes, pixels.data() + y * line_bytes, line_bytes);
  }
}

void SyntheticImages::fill(std::span<const std::int64_t> indices, Batch& batch) const {
  BatchRows<std::uint8_t> rows(shape_, batch, indices.size());
  Random random = random_;
  for (std::size_t row = 0; row < indices.size(); ++row) {
    const std::int64_t label = indices[row] % shape_.classes;
    random.skip_to(static_cast<std::uint64_t>(indices[row]));
    paint(label, noise_.data() + random.bits32() % kNoiseStarts, rows.inputs(row));
    rows.targets(row)[0] = label;
  }
}

std::string SyntheticImages::description() const {
  return "synthetic-images, " + grouped(samples_) + " samples of 3×" + std::to_string(shape_.image_size) + "×" +
         std::to_string(shape_.image_size) + ", " + grouped(shape_.classes) + " classes";
}

}  // namespace assay::engine
