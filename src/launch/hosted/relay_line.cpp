#include "launch/hosted/relay_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "bytes/base64.h"

namespace assay {
namespace {

constexpr std::string_view kRelayMark = "@assay ";
constexpr std::array<std::string_view, 13> kRelayNames = {"out",     "error", "events",  "readings", "order",
                                                          "host",    "file",  "bytes",   "ending",   "wish",
                                                          "problem", "alive", "complete"};
// An order with a long environment; beyond it somebody sends nonsense.
constexpr std::size_t kLongestRecord = std::size_t{16} << 20;
constexpr std::string_view kHexDigits = "0123456789abcdef";

/// Nothing where base64 would be shorter.
std::optional<std::string> escaped(std::string_view bytes) {
  const std::size_t most = (bytes.size() + 2) / 3 * 4;
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      text += "\\n";
    } else if (c == '\\') {
      text += "\\\\";
    } else if (byte >= 0x20 && byte < 0x7f) {
      text += c;
    } else {
      text += {'\\', 'x', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
    }
    if (text.size() > most) return std::nullopt;
  }
  return text;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      bytes += text[i];
      continue;
    }
    const char what = ++i < text.size() ? text[i] : '\0';
    if (what == 'n' || what == '\\') {
      bytes += what == 'n' ? '\n' : '\\';
    } else if (what == 'x' && i + 2 < text.size()) {
      const auto high = kHexDigits.find(text[i + 1]);
      const auto low = kHexDigits.find(text[i + 2]);
      if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
      bytes += static_cast<char>(high << 4 | low);
      i += 2;
    } else {
      return std::nullopt;
    }
  }
  return bytes;
}

/// Whether its bytes stand somewhere in a stream, so that each line is whole by itself.
bool is_stream(RelayKind kind) { return kind <= RelayKind::readings || kind == RelayKind::bytes; }

struct RelayLine {
  RelayFrame frame;
  bool more = false;
};

std::optional<RelayLine> parse_line(std::string_view line) {
  RelayLine parsed;
  const auto blank = line.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  auto name = line.substr(0, blank);
  parsed.more = name.ends_with('+');
  if (parsed.more) name.remove_suffix(1);
  const auto* const known = std::find(kRelayNames.begin(), kRelayNames.end(), name);
  if (known == kRelayNames.end()) return std::nullopt;
  parsed.frame.kind = static_cast<RelayKind>(known - kRelayNames.begin());
  line.remove_prefix(blank + 1);
  const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), parsed.frame.offset);
  if (problem != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (line.size() < 2 || line[0] != ' ') return std::nullopt;
  auto payload = line[1] == ':'   ? unescaped(line.substr(2))
                 : line[1] == '=' ? from_base64(line.substr(2))
                                  : std::nullopt;
  if (!payload) return std::nullopt;
  parsed.frame.payload = *std::move(payload);
  return parsed;
}

}  // namespace

std::string relay_lines(const RelayFrame& frame) {
  std::string lines;
  std::string_view rest = frame.payload;
  std::uint64_t offset = frame.offset;
  do {
    const auto piece = rest.substr(0, kMostRelayBytes);
    rest.remove_prefix(piece.size());
    const auto text = escaped(piece);
    const bool more = !rest.empty() && !is_stream(frame.kind);
    lines += fmt::format("{}{}{} {} {}{}\n", kRelayMark, kRelayNames[static_cast<std::size_t>(frame.kind)],
                         more ? "+" : "", offset, text ? ':' : '=', text ? *text : to_base64(piece));
    if (is_stream(frame.kind)) offset += piece.size();
  } while (!rest.empty());
  return lines;
}

Result<void> RelayReader::take(std::string_view text) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto piece = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line_.size() + piece.size() > kLongestRelayLine) foreign_ = true;
    if (!foreign_) line_ += piece;
    if (end == std::string_view::npos) break;
    const std::string line = std::move(line_);
    line_.clear();
    if (!std::exchange(foreign_, false)) ASSAY_CHECK(take_line(line));
  }
  return {};
}

Result<void> RelayReader::take_line(std::string_view line) {
  if (!line.starts_with(kRelayMark)) return {};
  auto parsed = parse_line(line.substr(kRelayMark.size()));
  if (!parsed) {
    return Error{.kind = ErrorKind::bad_file,
                 .message = fmt::format("a damaged line: '{}'", printable(line.substr(0, 80)))};
  }
  if (is_stream(parsed->frame.kind)) return on_frame_(std::move(parsed->frame));
  record_ += parsed->frame.payload;
  if (record_.size() > kLongestRecord)
    return Error{.kind = ErrorKind::bad_file, .message = "a record of more than 16 MiB"};
  if (parsed->more) return {};
  parsed->frame.payload = std::exchange(record_, {});
  return on_frame_(std::move(parsed->frame));
}

}  // namespace assay
