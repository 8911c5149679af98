#include "store/series/bucket_codec.h"

#include <fmt/format.h>

#include <array>

#include "bytes/compress.h"
#include "store/series/values.h"

// One byte of flags, the number of buckets, then columns (starts, counts, NaN counts, minima, maxima, sums), compressed
// as a whole where that makes them smaller.

namespace assay {
namespace {

constexpr std::uint8_t kLayout = 1;
/// Ten bytes for a time and for each count, twelve for each value.
constexpr std::size_t kMaxBody = kRowBuckets * (3 * 10 + 3 * 12);

Error damaged(std::string_view what) {
  return Error{.kind = ErrorKind::bad_file, .message = fmt::format("damaged row of roll-ups: {}", what)};
}

/// Second differences: buckets in a row and equal counts cost a byte that compresses to nothing.
template <typename Get>
void put_numbers(std::string& body, std::span<const SeriesBucket> buckets, Get get) {
  std::uint64_t previous = 0;
  std::uint64_t previous_delta = 0;
  for (const auto& bucket : buckets) {
    const auto delta = static_cast<std::uint64_t>(get(bucket)) - previous;
    put_varint(body, zigzag(delta - previous_delta));
    previous += delta;
    previous_delta = &bucket == &buckets.front() ? 0 : delta;
  }
}

template <typename Set>
void get_numbers(ByteReader& reader, std::span<SeriesBucket> buckets, Set set) {
  std::uint64_t number = 0;
  std::uint64_t delta = 0;
  for (auto& bucket : buckets) {
    delta += unzigzag(reader.varint());
    number += delta;
    set(bucket, number);
    if (&bucket == &buckets.front()) delta = 0;
  }
}

void put_values(std::string& body, std::span<const SeriesBucket> buckets, double SeriesBucket::* value) {
  ValueCoder coder;
  for (const auto& bucket : buckets) coder.put(body, bucket.*value);
}

void get_values(ByteReader& reader, std::span<SeriesBucket> buckets, double SeriesBucket::* value) {
  ValueCoder coder;
  for (auto& bucket : buckets) bucket.*value = coder.get(reader);
}

}  // namespace

void encode_buckets(std::span<const SeriesBucket> buckets, std::string& out) {
  ASSAY_ASSERT(!buckets.empty() && buckets.size() <= kRowBuckets);
  thread_local std::string body;
  body.clear();
  put_numbers(body, buckets, [](const SeriesBucket& bucket) { return bucket.start_ns; });
  put_numbers(body, buckets, [](const SeriesBucket& bucket) { return bucket.count; });
  put_numbers(body, buckets, [](const SeriesBucket& bucket) { return bucket.nan_count; });
  put_values(body, buckets, &SeriesBucket::min);
  put_values(body, buckets, &SeriesBucket::max);
  put_values(body, buckets, &SeriesBucket::sum);
  std::array<char, kMaxBody> scratch;
  put_packed(out, kLayout, buckets.size(), body, scratch);
}

Result<std::vector<SeriesBucket>> decode_buckets(std::string_view bytes) {
  ByteReader head(bytes);
  const auto flags = head.byte();
  const auto count = head.varint();
  if (!head.ok() || (flags & ~kPackedCompressed) != kLayout) return damaged("unknown form");
  if (count == 0 || count > kRowBuckets) return damaged(fmt::format("{} buckets", count));
  std::array<char, kMaxBody> scratch;
  const auto body = packed_body(head.rest(), flags, scratch);
  if (!body.ok()) return damaged(body.error().message);
  std::vector<SeriesBucket> buckets(count);
  ByteReader reader(*body);
  get_numbers(reader, buckets,
              [](SeriesBucket& bucket, std::uint64_t number) { bucket.start_ns = static_cast<std::int64_t>(number); });
  get_numbers(reader, buckets, [](SeriesBucket& bucket, std::uint64_t number) { bucket.count = number; });
  get_numbers(reader, buckets, [](SeriesBucket& bucket, std::uint64_t number) { bucket.nan_count = number; });
  get_values(reader, buckets, &SeriesBucket::min);
  get_values(reader, buckets, &SeriesBucket::max);
  get_values(reader, buckets, &SeriesBucket::sum);
  if (!reader.ok() || !reader.rest().empty()) return damaged("its length is wrong");
  return buckets;
}

}  // namespace assay
