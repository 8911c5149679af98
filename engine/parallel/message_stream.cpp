#include "parallel/message_stream.h"

#include <sys/socket.h>

#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace assay::engine {
namespace {

constexpr std::size_t kLengthBytes = 4;
// A few of the largest messages: whoever lets more than that pile up does not read any more.
constexpr std::size_t kMostUnsent = 8 * kLargestMessage;

std::string length_text(std::size_t length) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(length >> shift & 0xFF);
  return text;
}

std::size_t length_in(std::string_view text) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) length = length << 8 | static_cast<unsigned char>(text[i]);
  return length;
}

}  // namespace

void MessageStream::send(const boost::json::object& message) {
  const std::string text = boost::json::serialize(message);
  if (text.size() > kLargestMessage) {
    throw std::length_error("a message of " + std::to_string(text.size()) +
                            " bytes is too large for the control channel");
  }
  if (broken_ || unsent_.size() > kMostUnsent) {
    broken_ = true;
    return;
  }
  unsent_ += length_text(text.size()) + text;
  flush();
}

bool MessageStream::flush() {
  std::string_view rest = unsent_;
  while (!rest.empty() && !broken_) {
    const ssize_t sent = ::send(fd_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR) {
      broken_ = true;
    }
  }
  if (broken_) rest = {};
  unsent_.erase(0, unsent_.size() - rest.size());
  return !broken_;
}

bool MessageStream::receive(std::vector<boost::json::object>& messages, std::size_t largest) {
  std::array<char, 1 << 14> buffer;
  // Bounded, so that nobody keeps the reader busy for ever by sending as fast as it reads.
  for (int reads = 0; reads < 128; ++reads) {
    const ssize_t count = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (count == 0) return false;
    received_.append(buffer.data(), static_cast<std::size_t>(count));
    if (!take_messages(messages, largest)) return false;
  }
  return true;
}

bool MessageStream::take_messages(std::vector<boost::json::object>& messages, std::size_t largest) {
  boost::json::parse_options options;
  options.allow_invalid_utf8 = true;  // error messages quote what they do not understand
  std::string_view rest = received_;
  while (rest.size() >= kLengthBytes) {
    const std::size_t length = length_in(rest);
    if (length > largest) return false;
    if (rest.size() < kLengthBytes + length) break;
    boost::json::error_code code;
    boost::json::value value = boost::json::parse(rest.substr(kLengthBytes, length), code, {}, options);
    if (code || !value.is_object()) return false;
    messages.push_back(std::move(value.get_object()));
    rest.remove_prefix(kLengthBytes + length);
  }
  received_.erase(0, received_.size() - rest.size());
  return true;
}

std::string hex_of(const void* bytes, std::size_t count) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto* begin = static_cast<const unsigned char*>(bytes);
  std::string text;
  text.reserve(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    text += kDigits[begin[i] >> 4];
    text += kDigits[begin[i] & 15];
  }
  return text;
}

std::vector<char> bytes_from(std::string_view hex) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    throw std::invalid_argument("not hexadecimal digits");
  };
  if (hex.size() % 2 != 0) throw std::invalid_argument("half a byte");
  std::vector<char> bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(digit(hex[i]) << 4 | digit(hex[i + 1])));
  }
  return bytes;
}

}  // namespace assay::engine
