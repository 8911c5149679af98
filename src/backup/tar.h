#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

// Archives in the format of POSIX (ustar), with its extended headers where a name or a size needs them: what every
// `tar` reads. Only as much of it as a copy of folders takes: files, folders and symbolic links.

struct TarEntry {
  enum class Kind { file, folder, link };

  std::string path;  ///< "leader/cluster.db"; "." is the folder of all
  Kind kind = Kind::file;
  std::uint64_t bytes = 0;  ///< of a file
  unsigned mode = 0600;     ///< the permissions alone
  std::string user;         ///< empty where it has no name
  std::string group;
  std::int64_t modified_s = 0;  ///< since 1970
  std::string target;           ///< of a link
  bool operator==(const TarEntry&) const = default;
};

/// A path that leads nowhere but below the folder it counts from: relative, without empty, `.` or `..` parts. "." alone
/// is that folder.
bool is_inner_path(std::string_view path);

/// What stands before the bytes of an entry.
std::string tar_head(const TarEntry& entry);
/// What stands after so many bytes.
std::string tar_padding(std::uint64_t bytes);
/// What stands after the last entry.
std::string tar_end();

/// Reads an archive that comes piece by piece and may be anything. Holds one piece and one head, whatever its size. Not
/// thread-safe.
class TarReader {
 public:
  /// An error of theirs ends the reading and is what the caller gets.
  struct Visitor {
    std::function<Result<void>(const TarEntry& entry)> on_entry;
    std::function<Result<void>(std::string_view bytes)> on_bytes;  ///< of the last entry, as they come
    std::function<Result<void>()> on_end;                          ///< of the last entry, where it is a file
  };

  explicit TarReader(Visitor visitor) : visitor_(std::move(visitor)) {}

  /// `bad_file` for what is no archive, or one with something else in it than files, folders and links at inner paths.
  Result<void> take(std::string_view piece);
  /// `bad_file` where the archive has not come to its end.
  Result<void> finish() const;

 private:
  Result<void> take_head();
  Result<void> take_extension();
  Result<void> begin(TarEntry entry);
  Result<void> end_content();

  Visitor visitor_;
  std::string gathered_;         ///< of a head or an extended header
  std::uint64_t extension_ = 0;  ///< bytes of the extended header that is being read
  std::uint64_t content_ = 0;    ///< bytes of the entry that are still to come
  std::uint64_t after_content_ = 0;
  std::uint64_t padding_ = 0;  ///< bytes to pass over
  bool in_file_ = false;
  bool ended_ = false;
  TarEntry extended_;  ///< what an extended header says of the next entry
  bool has_size_ = false;
};

}  // namespace assay
