#include "backup/manifest.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/byte_stream.h"
#include "base/json.h"
#include "base/text.h"

namespace assay {
namespace {

constexpr int kSchema = 2;
// Of copies without sums.
constexpr const char* kEarlierLabel = "assay-backup.json";
// A few hundred bytes for each file of the largest clusters.
constexpr std::size_t kMostManifest = std::size_t{4} << 30;
constexpr std::size_t kMostNamed = 5;

Error no_copy(std::string what) {
  return {.kind = ErrorKind::bad_file, .message = fmt::format("{}: {}", kManifestName, what)};
}

json::object line_of(const CopiedEntry& copied) {
  const TarEntry& entry = copied.entry;
  json::object line{{"path", entry.path}, {"mode", fmt::format("{:04o}", entry.mode)}};
  if (!entry.user.empty()) line["user"] = entry.user;
  if (!entry.group.empty()) line["group"] = entry.group;
  if (entry.kind == TarEntry::Kind::file) {
    line["bytes"] = entry.bytes;
    line["sha256"] = copied.sha256;
  }
  if (entry.kind == TarEntry::Kind::link) line["target"] = entry.target;
  return line;
}

Result<CopiedEntry> entry_of(const json::value& line) {
  JsonFields fields(line, kManifestName);
  CopiedEntry copied{.entry = {.path = fields.text("path"), .kind = TarEntry::Kind::folder}};
  const std::string mode = fields.text("mode");
  const auto [end, code] = std::from_chars(mode.data(), mode.data() + mode.size(), copied.entry.mode, 8);
  if (code != std::errc() || end != mode.data() + mode.size() || copied.entry.mode > 07777) {
    fields.fail("mode", "must be up to four octal digits");
  }
  if (!is_inner_path(copied.entry.path)) fields.fail("path", "leads out of the copy");
  copied.entry.user = fields.text_or("user", "");
  copied.entry.group = fields.text_or("group", "");
  if (fields.find("bytes")) {
    copied.entry.kind = TarEntry::Kind::file;
    const auto bytes = fields.integer("bytes");
    if (bytes < 0) fields.fail("bytes", "must not be negative");
    copied.entry.bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0));
    copied.sha256 = fields.text("sha256");
  } else if (fields.find("target")) {
    copied.entry.kind = TarEntry::Kind::link;
    copied.entry.target = fields.text("target");
  }
  ASSAY_CHECK(fields.finish());
  return copied;
}

/// The line at the end, which is held against all before it.
Result<void> check_end(std::string_view line, std::string_view before, std::size_t entries) {
  ASSAY_TRY(const auto value, parse_json(line));
  JsonFields fields(value, kManifestName);
  const auto counted = fields.integer("entries");
  const auto sum = fields.text("sha256");
  ASSAY_CHECK(fields.finish());
  Sha256 found;
  found.add(before);
  if (counted != static_cast<std::int64_t>(entries) || sum != found.digits()) return no_copy("it is damaged");
  return {};
}

Result<void> add_found(const fs::path& folder, const fs::path& below, Manifest& manifest) {
  std::error_code code;
  for (auto at = fs::directory_iterator(folder / below, code); !code && at != fs::directory_iterator();
       at.increment(code)) {
    const auto path = below / at->path().filename();
    if (path == kEarlierLabel) continue;
    TarEntry entry{.path = path.string()};
    const auto type = at->symlink_status(code).type();
    if (type == fs::file_type::directory) {
      entry.kind = TarEntry::Kind::folder;
      entry.mode = 0700;
      manifest.entries.push_back({.entry = entry});
      ASSAY_CHECK(add_found(folder, path, manifest));
    } else if (type == fs::file_type::regular) {
      entry.bytes = at->file_size(code);
      manifest.entries.push_back({.entry = entry});
    }
  }
  if (code) return system_error(code.value(), fmt::format("cannot read '{}'", (folder / below).string()));
  return {};
}

/// What is wrong with a file of a copy; nothing if it is as it was.
Result<std::string> difference(const fs::path& file, const CopiedEntry& copied) {
  auto opened = open_file(file, O_RDONLY | O_NOFOLLOW);
  if (!opened)
    return opened.error().kind == ErrorKind::missing_file ? Result<std::string>("is missing") : opened.error();
  // What was written a moment ago would come from memory, and the disk is what counts.
  ::posix_fadvise(opened->get(), 0, 0, POSIX_FADV_DONTNEED);
  ASSAY_TRY(const auto source, file_source(file));
  Sha256 sum;
  const auto read = pour(*source, [&](std::string_view piece) -> Result<void> {
    sum.add(piece);
    return {};
  });
  if (!read) return "cannot be read: " + read.error().message;
  if (*read != copied.entry.bytes) return fmt::format("has {} bytes instead of {}", *read, copied.entry.bytes);
  if (copied.sha256.empty() || sum.digits() == copied.sha256) return std::string();
  return std::string("has other content than when it was copied");
}

}  // namespace

ManifestWriter::ManifestWriter(std::string_view assay, WallTime made) {
  add_line(json::serialize(json::object{{"schema", kSchema}, {"assay", assay}, {"made", iso8601(made)}}));
}

void ManifestWriter::add_line(const std::string& line) {
  sum_.add(line);
  sum_.add("\n");
  text_ += line;
  text_ += '\n';
}

void ManifestWriter::add(const CopiedEntry& copied) {
  add_line(json::serialize(line_of(copied)));
  ++entries_;
}

std::string ManifestWriter::finish() {
  text_ += json::serialize(json::object{{"entries", entries_}, {"sha256", sum_.digits()}});
  text_ += '\n';
  return std::move(text_);
}

Result<Manifest> read_manifest(std::string_view text) {
  if (text.empty() || text.back() != '\n') return no_copy("it was broken off");
  const auto last = text.substr(0, text.size() - 1).rfind('\n');
  if (last == std::string_view::npos) return no_copy("it was broken off");
  const auto before = text.substr(0, last + 1);
  Manifest manifest;
  for (auto rest = before; !rest.empty();) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    ASSAY_TRY(const auto value, parse_json(line));
    if (line.data() != before.data()) {
      ASSAY_TRY(auto entry, entry_of(value));
      manifest.entries.push_back(std::move(entry));
      continue;
    }
    ASSAY_CHECK(check_schema(value, kSchema, kManifestName));
    JsonFields fields(value, kManifestName);
    manifest.assay = fields.text("assay");
    const auto made = fields.text("made");
    ASSAY_CHECK(fields.finish());
    ASSAY_TRY(manifest.made, parse_iso8601(made));
  }
  ASSAY_CHECK(check_end(text.substr(last + 1), before, manifest.entries.size()));
  return manifest;
}

Result<Manifest> manifest_of(const fs::path& folder) {
  const auto text = read_file(folder / kManifestName, kMostManifest);
  if (text) return read_manifest(*text).within(fmt::format("reading '{}'", folder.string()));
  if (text.error().kind == ErrorKind::denied) return text.error();
  if (!read_file(folder / kEarlierLabel, 1 << 16)) {
    return Error{.kind = ErrorKind::bad_file,
                 .message = fmt::format("'{}' is no backup, or one that was broken off", folder.string()),
                 .hint = "`assay backup FOLDER` makes one."};
  }
  Manifest manifest;
  manifest.entries.push_back({.entry = {.path = ".", .kind = TarEntry::Kind::folder, .mode = 0700}});
  ASSAY_CHECK(add_found(folder, "", manifest));
  return manifest;
}

Result<void> check_copy(const fs::path& folder, const Manifest& manifest) {
  std::vector<std::string> damaged;
  std::size_t more = 0;
  for (const auto& copied : manifest.entries) {
    if (copied.entry.kind != TarEntry::Kind::file) continue;
    ASSAY_TRY(const auto what, difference(folder / copied.entry.path, copied));
    if (what.empty()) continue;
    if (damaged.size() < kMostNamed) {
      damaged.push_back(fmt::format("'{}' {}", printable(copied.entry.path), what));
    } else {
      ++more;
    }
  }
  if (damaged.empty()) return {};
  std::string message = join(damaged, ", ");
  if (more > 0) message += fmt::format(" and {} more are damaged", more);
  return Error{.kind = ErrorKind::bad_file,
               .message = std::move(message),
               .hint = fmt::format("'{}' is damaged: use another backup.", folder.string())};
}

}  // namespace assay
