#include "protocol/batch.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/assert.h"
#include "bytes/scaled.h"
#include "bytes/varint.h"
#include "telemetry/codec/reading_codec.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

constexpr std::uint8_t kVersion = 1;

enum Parts : std::uint8_t { kHasDevices = 1, kHasProcesses = 2 };

/// Which of kScales a value is a whole number at; kRawValue: none, its eight bytes follow.
constexpr std::uint64_t kRawValue = kScales.size();
constexpr std::uint64_t kValueTags = kScales.size() + 1;

void put_value(std::string& out, double value) {
  for (std::size_t scale = 0; scale < kScales.size(); ++scale) {
    // A large number would take more bytes this way, and overflow the tag.
    if (!(std::fabs(value) < 1e12) || !scales_exactly(value, kScales[scale])) continue;
    put_varint(out, zigzag(static_cast<std::uint64_t>(std::llrint(value * kScales[scale]))) * kValueTags + scale);
    return;
  }
  put_varint(out, kRawValue);
  put_number(out, value);
}

double take_value(BoundedReader& in) {
  const std::uint64_t tagged = in.varint();
  const std::uint64_t tag = tagged % kValueTags;
  if (tag == kRawValue) return in.number();
  return static_cast<double>(static_cast<std::int64_t>(unzigzag(tagged / kValueTags))) / kScales[tag];
}

/// Samples of one time stand together; their series usually ascend by one.
void put_samples(std::string& out, const std::vector<BatchSample>& samples) {
  put_varint(out, samples.size());
  std::int64_t time = 0;
  for (std::size_t i = 0; i < samples.size();) {
    std::size_t end = i;
    while (end < samples.size() && samples[end].time_ns == samples[i].time_ns) ++end;
    // Unsigned: the difference of two extreme times wraps and comes back.
    put_integer(out, static_cast<std::int64_t>(static_cast<std::uint64_t>(samples[i].time_ns) -
                                               static_cast<std::uint64_t>(time)));
    put_varint(out, end - i);
    time = samples[i].time_ns;
    std::int64_t expected = 0;
    for (; i < end; ++i) {
      put_integer(out, std::int64_t{samples[i].series} - expected);
      put_value(out, samples[i].value);
      expected = std::int64_t{samples[i].series} + 1;
    }
  }
}

std::vector<BatchSample> take_samples(BoundedReader& in) {
  const std::size_t total = in.count(kMaxBatchSamples);
  std::vector<BatchSample> samples;
  samples.reserve(total);
  std::int64_t time = 0;
  while (samples.size() < total && in.ok()) {
    time = static_cast<std::int64_t>(static_cast<std::uint64_t>(time) + static_cast<std::uint64_t>(in.integer()));
    const std::size_t together = in.count(total - samples.size());
    if (together == 0) {
      in.fail();
      break;
    }
    std::int64_t expected = 0;
    for (std::size_t i = 0; i < together && in.ok(); ++i) {
      const std::int64_t step = in.integer();
      if (step < -std::int64_t{kMaxBatchSeries} || step > std::int64_t{kMaxBatchSeries}) in.fail();
      const std::int64_t series = in.ok() ? expected + step : 0;
      if (series < 0 || series >= std::int64_t{kMaxBatchSeries}) in.fail();
      samples.push_back({.series = static_cast<std::uint32_t>(series), .time_ns = time, .value = take_value(in)});
      expected = series + 1;
    }
  }
  return samples;
}

Error damaged() { return {.kind = ErrorKind::bad_file, .message = "these bytes are no batch of an agent"}; }

}  // namespace

std::string encode_batch(const Batch& batch) {
  std::string out;
  out.reserve(64 + batch.samples.size() * 4 + batch.series.size() * 64);
  out.push_back(static_cast<char>(kVersion));
  put_short_text(out, batch.stream);
  put_varint(out, batch.sequence);
  put_varint(out, batch.first_series);
  put_varint(out, batch.series.size());
  for (const auto& series : batch.series) put_series(out, series.key, series.unit);
  put_samples(out, batch.samples);
  const std::size_t events = std::min(batch.events.size(), kMaxBatchEvents);
  put_varint(out, events);
  for (std::size_t i = 0; i < events; ++i) put_event(out, batch.events[i]);
  out.push_back(static_cast<char>((batch.devices ? kHasDevices : 0) | (batch.processes ? kHasProcesses : 0)));
  if (batch.devices) put_devices(out, *batch.devices);
  if (batch.processes) put_processes(out, *batch.processes);
  return out;
}

Result<Batch> decode_batch(std::string_view bytes) {
  BoundedReader in(bytes);
  if (const auto version = in.byte(); version != kVersion) {
    if (!in.ok()) return damaged();
    return Error{.kind = ErrorKind::unsupported,
                 .message = "the batch has a format that this version does not know",
                 .hint = "Update the leader before its agents."};
  }
  Batch batch;
  batch.stream = in.text();
  batch.sequence = in.varint();
  batch.first_series = static_cast<std::uint32_t>(std::min<std::uint64_t>(in.varint(), kMaxBatchSeries));
  const std::size_t names = in.count(kMaxBatchSeries - batch.first_series);
  for (std::size_t i = 0; i < names && in.ok(); ++i) {
    Sample named = take_series(in);
    batch.series.push_back({.key = std::move(named.key), .unit = std::move(named.unit)});
  }
  batch.samples = take_samples(in);
  const std::size_t events = in.count(kMaxBatchEvents);
  for (std::size_t i = 0; i < events && in.ok(); ++i) batch.events.push_back(take_event(in));
  const std::uint8_t parts = in.byte();
  if ((parts & kHasDevices) != 0) batch.devices = take_devices(in);
  if ((parts & kHasProcesses) != 0) batch.processes = take_processes(in);
  if (!in.at_end()) return damaged();
  return batch;
}

void append_framed(std::string& out, std::string_view batch) {
  put_varint(out, batch.size());
  out.append(batch);
}

std::optional<std::string_view> take_framed(std::string_view& rest) {
  ByteReader in(rest);
  const std::string_view batch = in.text();
  if (rest.empty() || !in.ok()) return std::nullopt;
  rest = in.rest();
  return batch;
}

std::optional<std::uint32_t> BatchBuilder::number_of(Sample& sample, std::size_t guess) {
  if (guess < last_order_.size() && names_[last_order_[guess]].key == sample.key) return last_order_[guess];
  if (const auto known = numbers_.find(sample.key); known != numbers_.end()) return known->second;
  if (names_.size() == kMaxBatchSeries) return std::nullopt;
  const auto number = static_cast<std::uint32_t>(names_.size());
  numbers_.emplace(sample.key, number);
  names_.push_back({.key = std::move(sample.key), .unit = std::move(sample.unit)});
  return number;
}

void BatchBuilder::add(WallTime time, Reading reading) {
  const std::int64_t time_ns = time.time_since_epoch().count();
  // Sources of one grid time come one after the other: where the last such reading had this series is a good guess.
  const std::size_t start = open_.samples.empty() || open_.samples.back().time_ns != time_ns ? 0 : place_;
  place_ = start;
  for (auto& sample : reading.samples) {
    const auto number = open_.samples.size() < kMaxBatchSamples ? number_of(sample, place_) : std::nullopt;
    if (!number) {
      ++dropped_;
      continue;
    }
    if (place_ < last_order_.size()) {
      last_order_[place_] = *number;
    } else {
      last_order_.push_back(*number);
    }
    ++place_;
    open_.samples.push_back({.series = *number, .time_ns = time_ns, .value = sample.value});
  }
  for (auto& event : reading.events) {
    if (open_.events.size() < kMaxBatchEvents) {
      open_.events.push_back(std::move(event));
    } else {
      ++dropped_;
    }
  }
  if (reading.devices) open_.devices = std::move(reading.devices);
  if (reading.processes) open_.processes = std::move(reading.processes);
}

bool BatchBuilder::empty() const {
  return open_.samples.empty() && open_.events.empty() && !open_.devices && !open_.processes;
}

Batch BatchBuilder::take() {
  Batch batch = std::exchange(open_, {});
  batch.stream = stream_;
  batch.sequence = ++sequence_;
  batch.first_series = named_;
  batch.series.assign(names_.begin() + named_, names_.end());
  named_ = static_cast<std::uint32_t>(names_.size());
  place_ = 0;
  std::stable_sort(batch.samples.begin(), batch.samples.end(),
                   [](const BatchSample& a, const BatchSample& b) { return a.time_ns < b.time_ns; });
  return batch;
}

}  // namespace assay
