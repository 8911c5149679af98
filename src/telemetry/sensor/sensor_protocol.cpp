#include "telemetry/sensor/sensor_protocol.h"

#include <algorithm>

#include "bytes/varint.h"
#include "telemetry/codec/reading_codec.h"

namespace assay {
namespace {

constexpr std::uint8_t kHasDevices = 1;
constexpr std::uint8_t kHasProcesses = 2;
constexpr std::size_t kMaxMissing = 4096;

Error damaged(std::string_view what) {
  return {.kind = ErrorKind::bad_file, .message = "the sensor sent a damaged " + std::string(what)};
}

void put_frame(std::string& out, SensorFrame kind, std::string_view payload) {
  put_fixed(out, payload.size(), 4);
  out.push_back(static_cast<char>(kind));
  out += payload;
}

std::string encode_failure(std::uint32_t number, const Error& error) {
  std::string payload;
  put_fixed(payload, number, 4);
  put_short_text(payload, name_of(error.kind));
  put_short_text(payload, error.text());
  put_short_text(payload, error.hint);
  return payload;
}

}  // namespace

std::string encode_sensor_request(SensorRequest request) {
  std::string bytes(1, request.everything ? 'e' : 'r');
  put_fixed(bytes, request.number, 4);
  return bytes;
}

std::optional<SensorRequest> decode_sensor_request(std::string_view bytes) {
  if (bytes.size() != kSensorRequestBytes || (bytes[0] != 'r' && bytes[0] != 'e')) return std::nullopt;
  ByteReader number(bytes.substr(1));
  return SensorRequest{.everything = bytes[0] == 'e', .number = static_cast<std::uint32_t>(number.fixed(4))};
}

std::size_t SensorEncoder::find_or_name(const Sample& sample, std::size_t guess, std::string& schema) {
  // A source gives its samples in nearly the same order every time.
  if (guess < names_.size() && *names_[guess] == sample.key) return guess;
  const auto [found, is_new] = places_.try_emplace(sample.key, names_.size());
  if (is_new) {
    names_.push_back(&found->first);
    put_series(schema, sample.key, sample.unit);
  }
  return found->second;
}

Result<std::string> SensorEncoder::encode_samples(const std::vector<Sample>& samples, std::string& schema) {
  std::string values;
  put_varint(values, samples.size());
  std::size_t guess = 0;
  for (const auto& sample : samples) {
    const std::size_t place = find_or_name(sample, guess, schema);
    if (place >= kMaxSensorSeries) return Error{.message = "the source has had too many different series"};
    put_integer(values, static_cast<std::int64_t>(place) - static_cast<std::int64_t>(guess));
    put_number(values, sample.value);
    guess = place + 1;
  }
  return values;
}

Result<void> SensorEncoder::encode(std::uint32_t number, const Result<Reading>& result, std::string& out) {
  if (!result) {
    put_frame(out, SensorFrame::failure, encode_failure(number, result.error()));
    return {};
  }
  std::string schema;
  ASSAY_TRY(const std::string values, encode_samples(result->samples, schema));
  std::string payload;
  put_fixed(payload, number, 4);
  payload.push_back(static_cast<char>((result->devices ? kHasDevices : 0) | (result->processes ? kHasProcesses : 0)));
  payload += values;
  const std::size_t missing = std::min(result->missing.size(), kMaxMissing);
  put_varint(payload, missing);
  for (std::size_t i = 0; i < missing; ++i) put_short_text(payload, result->missing[i]);
  const std::size_t events = std::min(result->events.size(), kMaxSensorEvents);
  put_varint(payload, events);
  for (std::size_t i = 0; i < events; ++i) put_event(payload, result->events[i]);
  if (result->devices) put_devices(payload, *result->devices);
  if (result->processes) put_processes(payload, *result->processes);
  if (std::max(schema.size(), payload.size()) > kMaxSensorFrame) return Error{.message = "the reading is too large"};
  if (!schema.empty()) put_frame(out, SensorFrame::schema, schema);
  put_frame(out, SensorFrame::reading, payload);
  return {};
}

Result<std::optional<SensorAnswer>> SensorDecoder::next() {
  while (buffer_.size() >= kSensorFrameHeader) {
    ByteReader header(std::string_view(buffer_).substr(0, kSensorFrameHeader));
    const std::size_t length = header.fixed(4);
    const auto kind = static_cast<SensorFrame>(header.byte());
    if (length > kMaxSensorFrame) return damaged("frame");
    if (buffer_.size() < kSensorFrameHeader + length) return std::optional<SensorAnswer>();
    const std::string payload = buffer_.substr(kSensorFrameHeader, length);
    buffer_.erase(0, kSensorFrameHeader + length);
    if (kind == SensorFrame::schema) {
      ASSAY_CHECK(read_schema(payload));
      continue;
    }
    if (kind != SensorFrame::reading && kind != SensorFrame::failure) return damaged("frame");
    auto answer = kind == SensorFrame::reading ? read_reading(payload) : read_failure(payload);
    if (!answer) return std::move(answer).error();
    return std::optional<SensorAnswer>(std::move(*answer));
  }
  return std::optional<SensorAnswer>();
}

Result<void> SensorDecoder::read_schema(std::string_view payload) {
  BoundedReader in(payload);
  while (in.ok() && !in.at_end()) {
    series_.push_back(take_series(in));
    if (series_.size() > kMaxSensorSeries) return damaged("schema");
  }
  return in.ok() ? Result<void>() : damaged("schema");
}

Result<SensorAnswer> SensorDecoder::read_reading(std::string_view payload) const {
  ByteReader head(payload.substr(0, 5));
  const auto number = static_cast<std::uint32_t>(head.fixed(4));
  const std::uint8_t flags = head.byte();
  if (!head.ok()) return damaged("reading");
  BoundedReader in(payload.substr(5));
  Reading reading;
  const std::size_t samples = in.count(kMaxSensorSeries);
  reading.samples.reserve(samples);
  std::uint64_t guess = 0;
  for (std::size_t i = 0; i < samples && in.ok(); ++i) {
    const std::uint64_t place = guess + static_cast<std::uint64_t>(in.integer());
    if (place >= series_.size()) return damaged("reading");
    reading.samples.push_back(series_[place]);
    reading.samples.back().value = in.number();
    guess = place + 1;
  }
  for (std::size_t left = in.count(kMaxMissing); left > 0; --left) reading.missing.push_back(in.text());
  for (std::size_t left = in.count(kMaxSensorEvents); left > 0; --left) reading.events.push_back(take_event(in));
  if ((flags & kHasDevices) != 0) reading.devices = take_devices(in);
  if ((flags & kHasProcesses) != 0) reading.processes = take_processes(in);
  if (!in.at_end()) return damaged("reading");
  return SensorAnswer{.number = number, .result = std::move(reading)};
}

Result<SensorAnswer> SensorDecoder::read_failure(std::string_view payload) {
  ByteReader head(payload.substr(0, 4));
  const auto number = static_cast<std::uint32_t>(head.fixed(4));
  if (!head.ok()) return damaged("failure");
  BoundedReader in(payload.substr(4));
  Error error;
  error.kind = error_kind_from(in.text()).value_or(ErrorKind::internal);
  error.message = in.text();
  error.hint = in.text();
  if (!in.at_end()) return damaged("failure");
  return SensorAnswer{.number = number, .result = std::move(error)};
}

}  // namespace assay
