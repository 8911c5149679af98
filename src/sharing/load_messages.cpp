#include "sharing/load_messages.h"

#include <cmath>

namespace assay {
namespace {

constexpr std::size_t kMostWords = 4096;  // of a text that another client sent

Result<json::value> parsed_message(std::string_view text) {
  json::error_code code;
  json::value value = json::parse(text, code);
  if (code) return Error{.kind = ErrorKind::bad_file, .message = "a message of another client is no JSON"};
  return value;
}

std::string short_text(JsonFields& fields, std::string_view key) {
  std::string text = fields.text_or(key, "");
  if (text.size() > kMostWords) fields.fail(key, "is too long");
  return text;
}

std::uint32_t number_in(JsonFields& fields, std::string_view key) {
  const std::int64_t number = fields.integer(key);
  if (number < 0 || number > UINT32_MAX) fields.fail(key, "is out of range");
  return static_cast<std::uint32_t>(number);
}

}  // namespace

json::object to_json(const ClientHello& hello) {
  return {{"index", hello.index},
          {"count", hello.count},
          {"host", hello.host},
          {"version", hello.identity.version},
          {"settings", hello.identity.settings},
          {"files", hello.identity.files}};
}

Result<ClientHello> client_hello_from(std::string_view text) {
  ASSAY_TRY(const auto value, parsed_message(text));
  JsonFields fields(value, "hello of a client");
  ClientHello hello{.index = number_in(fields, "index"), .count = number_in(fields, "count")};
  hello.host = short_text(fields, "host");
  hello.identity = {short_text(fields, "version"), short_text(fields, "settings"), short_text(fields, "files")};
  ASSAY_CHECK(fields.finish());
  return hello;
}

json::object to_json(const LoadOrder& order) {
  return {{"number", order.number}, {"purpose", static_cast<int>(order.purpose)}, {"rate", finite(order.rate)}};
}

Result<LoadOrder> load_order_from(std::string_view text) {
  ASSAY_TRY(const auto value, parsed_message(text));
  JsonFields fields(value, "order of a load");
  const std::uint32_t purpose = number_in(fields, "purpose");
  if (purpose > static_cast<std::uint32_t>(LoadOrder::Purpose::probe)) fields.fail("purpose", "is not known");
  LoadOrder order{.number = number_in(fields, "number"),
                  .purpose = static_cast<LoadOrder::Purpose>(purpose),
                  .rate = fields.number("rate")};
  if (!std::isfinite(order.rate) || order.rate < 0 || order.rate > 1e9) fields.fail("rate", "is no rate");
  ASSAY_CHECK(fields.finish());
  return order;
}

json::object error_json(const Error& error) {
  return {{"kind", name_of(error.kind)},
          {"message", error.text().substr(0, kMostWords)},
          {"hint", error.hint.substr(0, kMostWords)}};
}

Error error_from(std::string_view text) {
  const auto value = parsed_message(text);
  if (!value) return value.error();
  JsonFields fields(*value, "error of a client");
  const auto kind = error_kind_from(fields.text("kind"));
  Error error{.kind = kind.value_or(ErrorKind::internal), .message = short_text(fields, "message")};
  error.hint = short_text(fields, "hint");
  if (const auto finished = fields.finish(); !finished) return finished.error();
  return error;
}

std::string time_payload(SteadyTime time) {
  const auto ns = static_cast<std::uint64_t>(time.time_since_epoch().count());
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(ns >> (8 * i));
  return bytes;
}

Result<SteadyTime> time_from(std::string_view payload) {
  if (payload.size() != 8) return Error{.kind = ErrorKind::bad_file, .message = "a time of another client is not one"};
  std::uint64_t ns = 0;
  for (std::size_t i = 0; i < 8; ++i) ns |= std::uint64_t{static_cast<unsigned char>(payload[i])} << (8 * i);
  // A century on either side: sums with it do not overflow.
  constexpr std::int64_t kCentury = 3'155'760'000'000'000'000;
  const auto count = static_cast<std::int64_t>(ns);
  if (count > kCentury || count < -kCentury) {
    return Error{.kind = ErrorKind::bad_file, .message = "a time of another client is out of range"};
  }
  return SteadyTime(Nanos(count));
}

}  // namespace assay
