#include "backup/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace assay {
namespace {

constexpr std::size_t kBlock = 512;
// Names and sizes alone: nobody needs more.
constexpr std::uint64_t kMostExtension = 64 << 10;
// What eleven octal digits hold.
constexpr std::uint64_t kMostPlainBytes = (std::uint64_t{1} << 33) - 1;

struct Field {
  std::size_t at;
  std::size_t size;
};
constexpr Field kName{0, 100};
constexpr Field kMode{100, 8};
constexpr Field kSize{124, 12};
constexpr Field kTime{136, 12};
constexpr Field kSum{148, 8};
constexpr std::size_t kType = 156;
constexpr Field kTarget{157, 100};
constexpr Field kMagic{257, 8};
constexpr Field kUser{265, 32};
constexpr Field kGroup{297, 32};
// The year 2242.
constexpr std::int64_t kLatestTime = 0x1FFFFFFFF;
constexpr std::string_view kMark{"ustar\00000", 8};

Error no_archive(std::string what) {
  return {.kind = ErrorKind::bad_file, .message = fmt::format("this is no archive of ours: {}", what)};
}

void put(std::string& block, Field field, std::string_view text) {
  std::copy_n(text.begin(), std::min(text.size(), field.size), block.begin() + static_cast<std::ptrdiff_t>(field.at));
}

void put_octal(std::string& block, Field field, std::uint64_t number) {
  put(block, field, fmt::format("{:0{}o}", number, field.size - 1));
}

std::string_view text_in(std::string_view block, Field field) {
  const auto text = block.substr(field.at, field.size);
  return text.substr(0, text.find('\0'));
}

std::optional<std::uint64_t> octal_in(std::string_view block, Field field) {
  std::uint64_t number = 0;
  bool any = false;
  for (const char digit : text_in(block, field)) {
    if (digit == ' ') {
      if (any) break;
      continue;
    }
    if (digit < '0' || digit > '7') return std::nullopt;
    any = true;
    number = number * 8 + static_cast<std::uint64_t>(digit - '0');
  }
  return any ? std::optional(number) : std::nullopt;
}

/// Of all bytes, with blanks in place of the sum.
std::uint64_t sum_of(std::string_view block) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < block.size(); ++at) {
    const bool own = at >= kSum.at && at < kSum.at + kSum.size;
    sum += own ? ' ' : static_cast<unsigned char>(block[at]);
  }
  return sum;
}

void seal(std::string& block) {
  put(block, kMagic, kMark);
  put(block, kSum, fmt::format("{:06o}", sum_of(block)));
  block[kSum.at + 7] = ' ';
}

/// "27 path=runs/…\n", where the number counts itself.
std::string extension_record(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length) ++length;
  return fmt::format("{} {}={}\n", length, key, value);
}

/// Every record of an extended header, in order; false where it is none.
bool each_record(std::string_view text, const std::function<bool(std::string_view, std::string_view)>& visit) {
  while (!text.empty()) {
    std::size_t length = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (code != std::errc() || length > text.size() || length < digits + 3 || *end != ' ') return false;
    auto record = text.substr(digits + 1, length - digits - 1);
    const auto equals = record.find('=');
    if (record.back() != '\n' || equals == std::string_view::npos) return false;
    record.remove_suffix(1);
    if (!visit(record.substr(0, equals), record.substr(std::min(equals + 1, record.size())))) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::uint64_t padding_after(std::uint64_t bytes) { return (kBlock - bytes % kBlock) % kBlock; }

char type_of(TarEntry::Kind kind) {
  switch (kind) {
    case TarEntry::Kind::file: return '0';
    case TarEntry::Kind::folder: return '5';
    case TarEntry::Kind::link: return '2';
  }
  return '0';
}

}  // namespace

bool is_inner_path(std::string_view path) {
  if (path == ".") return true;
  while (true) {
    const auto slash = path.find('/');
    const auto part = path.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.find('\0') != std::string_view::npos) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

std::string tar_head(const TarEntry& entry) {
  std::string extension;
  if (entry.path.size() > kName.size) extension += extension_record("path", entry.path);
  if (entry.target.size() > kTarget.size) extension += extension_record("linkpath", entry.target);
  if (entry.bytes > kMostPlainBytes) extension += extension_record("size", std::to_string(entry.bytes));
  std::string head;
  if (!extension.empty()) {
    std::string block(kBlock, '\0');
    put(block, kName, "extended");
    put_octal(block, kMode, 0600);
    put_octal(block, kSize, extension.size());
    put_octal(block, kTime, 0);
    block[kType] = 'x';
    seal(block);
    head = block + extension + tar_padding(extension.size());
  }
  std::string block(kBlock, '\0');
  put(block, kName, entry.path);
  put_octal(block, kMode, entry.mode & 07777);
  // Owners go by their names: numbers mean nothing on another machine.
  put_octal(block, {108, 8}, 0);
  put_octal(block, {116, 8}, 0);
  put_octal(block, kSize, entry.bytes > kMostPlainBytes ? 0 : entry.bytes);
  put_octal(block, kTime, static_cast<std::uint64_t>(std::clamp<std::int64_t>(entry.modified_s, 0, kLatestTime)));
  block[kType] = type_of(entry.kind);
  put(block, kTarget, entry.target);
  put(block, kUser, entry.user);
  put(block, kGroup, entry.group);
  seal(block);
  return head + block;
}

std::string tar_padding(std::uint64_t bytes) { return std::string(padding_after(bytes), '\0'); }

std::string tar_end() { return std::string(2 * kBlock, '\0'); }

Result<void> TarReader::take(std::string_view piece) {
  while (!piece.empty()) {
    if (padding_ > 0) {
      const auto skipped = std::min<std::uint64_t>(padding_, piece.size());
      padding_ -= skipped;
      piece.remove_prefix(skipped);
    } else if (ended_) {
      // Programs fill up their last block.
      if (piece.find_first_not_of('\0') != std::string_view::npos) return no_archive("something follows its end");
      return {};
    } else if (in_file_) {
      const auto part = piece.substr(0, std::min<std::uint64_t>(content_, piece.size()));
      ASSAY_CHECK(visitor_.on_bytes(part));
      content_ -= part.size();
      piece.remove_prefix(part.size());
      if (content_ == 0) ASSAY_CHECK(end_content());
    } else {
      const std::uint64_t wanted = extension_ > 0 ? extension_ : kBlock;
      const auto part = piece.substr(0, std::min<std::uint64_t>(wanted - gathered_.size(), piece.size()));
      gathered_ += part;
      piece.remove_prefix(part.size());
      if (gathered_.size() < wanted) return {};
      ASSAY_CHECK(extension_ > 0 ? take_extension() : take_head());
      gathered_.clear();
    }
  }
  return {};
}

Result<void> TarReader::take_head() {
  const std::string_view block = gathered_;
  if (block.find_first_not_of('\0') == std::string_view::npos) {
    ended_ = true;
    return {};
  }
  const auto size = octal_in(block, kSize);
  const auto mode = octal_in(block, kMode);
  if (text_in(block, kMagic) != "ustar" || octal_in(block, kSum) != sum_of(block) || !size || !mode) {
    return no_archive("a head is damaged");
  }
  if (block[kType] == 'x') {
    if (*size == 0 || *size > kMostExtension) return no_archive("an extended header of that size is not ours");
    extension_ = *size;
    return {};
  }
  TarEntry entry = std::exchange(extended_, {});
  if (entry.path.empty()) entry.path = text_in(block, kName);
  if (entry.target.empty()) entry.target = text_in(block, kTarget);
  if (!std::exchange(has_size_, false)) entry.bytes = *size;
  entry.mode = static_cast<unsigned>(*mode & 07777);
  entry.user = text_in(block, kUser);
  entry.group = text_in(block, kGroup);
  entry.modified_s = std::min(static_cast<std::int64_t>(octal_in(block, kTime).value_or(0)), kLatestTime);
  switch (block[kType]) {
    case '0': entry.kind = TarEntry::Kind::file; break;
    case '5': entry.kind = TarEntry::Kind::folder; break;
    case '2': entry.kind = TarEntry::Kind::link; break;
    default: return no_archive(fmt::format("'{}' is neither file, folder nor link", printable(entry.path)));
  }
  return begin(std::move(entry));
}

Result<void> TarReader::take_extension() {
  padding_ = padding_after(std::exchange(extension_, 0));
  const bool read = each_record(gathered_, [&](std::string_view key, std::string_view value) {
    if (key == "path") extended_.path = value;
    if (key == "linkpath") extended_.target = value;
    if (key != "size") return true;
    has_size_ = true;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), extended_.bytes);
    return code == std::errc() && end == value.data() + value.size();
  });
  if (!read) return no_archive("an extended header is damaged");
  return {};
}

Result<void> TarReader::begin(TarEntry entry) {
  if (!is_inner_path(entry.path)) return no_archive(fmt::format("'{}' leads out of it", printable(entry.path)));
  const bool is_file = entry.kind == TarEntry::Kind::file;
  if (is_file && entry.path == ".") return no_archive("its folder is a file");
  if (!is_file && entry.bytes != 0) return no_archive(fmt::format("'{}' has bytes", printable(entry.path)));
  // A position in a file has 63 bits.
  if (entry.bytes >> 62 != 0) return no_archive(fmt::format("'{}' cannot be so large", printable(entry.path)));
  if (entry.kind != TarEntry::Kind::link) {
    entry.target.clear();
  } else if (entry.target.empty() || entry.target.find('\0') != std::string::npos) {
    return no_archive(fmt::format("the link '{}' leads nowhere", printable(entry.path)));
  }
  content_ = entry.bytes;
  after_content_ = padding_after(entry.bytes);
  in_file_ = is_file;
  ASSAY_CHECK(visitor_.on_entry(entry));
  return is_file && content_ == 0 ? end_content() : Result<void>();
}

Result<void> TarReader::end_content() {
  in_file_ = false;
  padding_ = after_content_;
  return visitor_.on_end();
}

Result<void> TarReader::finish() const {
  if (!ended_) return Error{.kind = ErrorKind::bad_file, .message = "the archive was broken off"};
  return {};
}

}  // namespace assay
