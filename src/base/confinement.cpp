#include "base/confinement.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/landlock.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

namespace assay {
namespace {

struct UserEntry {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  std::string home;
  std::string shell;
};

Result<UserEntry> find_user(const std::string& name) {
  std::vector<char> buffer(std::size_t{64} << 10);
  passwd entry{};
  passwd* found = nullptr;
  const int code = ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found) return UserEntry{entry.pw_name, entry.pw_uid, entry.pw_gid, entry.pw_dir, entry.pw_shell};
  if (code != 0) return system_error(code, fmt::format("cannot look for the user '{}'", name));
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("there is no user '{}' on this machine", name),
               .hint = fmt::format("Make one without rights of its own: useradd --system {}", name)};
}

Error cannot_look_into(const fs::path& folder, std::error_code code) {
  return system_error(code.value(), fmt::format("cannot look into {}", folder.string()));
}

// ---- Landlock. No wrapper in glibc; the flags of later versions are not in the headers of the oldest system we build
// on.

constexpr std::uint64_t kTruncate = std::uint64_t{1} << 14;  // version 3
constexpr std::uint64_t kRefer = std::uint64_t{1} << 13;     // version 2

/// As of version 6; whoever tells its size with less of it has what earlier versions know.
struct RulesetAttributes {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scoped = 0;
};
constexpr std::size_t kFilesAlone = sizeof(std::uint64_t);
constexpr std::uint64_t kScopeSignals = std::uint64_t{1} << 1;
constexpr int kFirstWithScopes = 6;

/// 0: this kernel has none.
int landlock_version() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : static_cast<int>(version);
}

/// Every kind of use of files that this kernel can forbid, but those of device files.
std::uint64_t uses_of_files(int version) {
  std::uint64_t uses = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;  // all of version 1
  if (version >= 2) uses |= kRefer;
  if (version >= 3) uses |= kTruncate;
  return uses;
}
constexpr std::uint64_t kUsesOfOneFile =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | kTruncate;

/// What may be used where some folders may not: everything beside the way from the root down to each of them.
class Permissions {
 public:
  /// `files`: nothing of them may be used but what is allowed then. Signals to others are forbidden where they can be.
  static Result<Permissions> make(int version, bool files) {
    const std::uint64_t uses = files ? uses_of_files(version) : 0;
    const bool scopes = version >= kFirstWithScopes;
    const RulesetAttributes attributes{.files = uses, .scoped = scopes ? kScopeSignals : 0};
    FileDescriptor rules(static_cast<int>(
        ::syscall(SYS_landlock_create_ruleset, &attributes, scopes ? sizeof attributes : kFilesAlone, 0)));
    if (!rules) return system_error(errno, "cannot confine a process");
    return Permissions(std::move(rules), uses);
  }

  /// Allows all that is in a folder except for `hidden` (complete paths without links) and what is below those.
  Result<void> allow_below(const fs::path& folder, const std::set<fs::path>& hidden) {
    const auto is_above = [&](const fs::path& path) {
      return std::ranges::any_of(hidden, [&](const fs::path& secret) {
        return std::mismatch(path.begin(), path.end(), secret.begin(), secret.end()).first == path.end();
      });
    };
    if (!is_above(folder)) return allow(folder);
    if (hidden.contains(folder)) return {};
    std::error_code code;
    for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
      ASSAY_CHECK(allow_below(entry->path(), hidden));
    }
    // What we may not look into, it may not use: nothing in there was allowed.
    if (code && code != std::errc::permission_denied) return cannot_look_into(folder, code);
    return {};
  }

  Result<void> enforce() const {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::syscall(SYS_landlock_restrict_self, rules_.get(), 0) != 0) {
      return system_error(errno, "cannot confine a process");
    }
    return {};
  }

 private:
  Permissions(FileDescriptor rules, std::uint64_t uses) : rules_(std::move(rules)), uses_(uses) {}

  /// What is gone or out of reach needs no permission.
  Result<void> allow(const fs::path& path) {
    const FileDescriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW));
    struct stat status{};
    if (!place || ::fstat(place.get(), &status) != 0 || S_ISLNK(status.st_mode)) return {};
    const landlock_path_beneath_attr rule{.allowed_access = S_ISDIR(status.st_mode) ? uses_ : uses_ & kUsesOfOneFile,
                                          .parent_fd = place.get()};
    if (::syscall(SYS_landlock_add_rule, rules_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
      return system_error(errno, fmt::format("cannot let a process use {}", path.string()));
    }
    return {};
  }

  FileDescriptor rules_;
  std::uint64_t uses_;
};

Result<void> shut_in(const std::vector<fs::path>& folders, int version) {
  std::set<fs::path> hidden;
  for (const auto& folder : folders) {
    std::error_code code;
    if (auto path = fs::canonical(folder, code); !code) hidden.insert(std::move(path));
  }
  if (hidden.empty() && version < kFirstWithScopes) return {};
  ASSAY_TRY(auto permissions, Permissions::make(version, !hidden.empty()));
  if (!hidden.empty()) ASSAY_CHECK(permissions.allow_below("/", hidden));
  return permissions.enforce();
}

Result<void> become(const UserEntry& user) {
  if (::initgroups(user.name.c_str(), user.gid) != 0 || ::setgid(user.gid) != 0 || ::setuid(user.uid) != 0) {
    return system_error(errno, fmt::format("cannot become the user '{}'", user.name));
  }
  return {};
}

/// Whether it runs as somebody else, whom the modes of our files keep out.
Result<bool> is_another_user(const Confinement& confinement) {
  if (confinement.user.empty()) return false;
  ASSAY_TRY(const auto user, find_user(confinement.user));
  return user.uid != ::geteuid();
}

}  // namespace

bool confinement_bars_signals() { return landlock_version() >= kFirstWithScopes; }

Result<void> check_confinement(const Confinement& confinement) {
  ASSAY_TRY(const bool other, is_another_user(confinement));
  if (other && ::geteuid() != 0) {
    return Error{.kind = ErrorKind::denied,
                 .message = fmt::format("only root can start programs as the user '{}'", confinement.user),
                 .hint = "Start this as root, or let programs run as the user that it runs as."};
  }
  if (other || landlock_version() > 0) return {};
  return Error{.kind = ErrorKind::unsupported,
               .message = "this kernel cannot keep a program from the files of the user that it runs as: no Landlock",
               .hint = "Start this as root and let programs run as another user, or use Linux 5.13 or newer."};
}

Result<void> confine_self(const Confinement& confinement) {
  ASSAY_CHECK(check_confinement(confinement));
  ASSAY_TRY(const bool other, is_another_user(confinement));
  // While we still see the folders that are above the hidden ones.
  if (const int version = landlock_version(); version > 0) ASSAY_CHECK(shut_in(confinement.hidden, version));
  if (!other) return {};
  ASSAY_TRY(const auto user, find_user(confinement.user));
  return become(user);
}

Result<std::map<std::string, std::string>> environment_of_user(const std::string& user) {
  ASSAY_TRY(const auto entry, find_user(user));
  return std::map<std::string, std::string>{
      {"HOME", entry.home}, {"USER", entry.name}, {"LOGNAME", entry.name}, {"SHELL", entry.shell}};
}

Result<void> hand_over(const fs::path& folder, const std::string& user) {
  if (user.empty()) return {};
  ASSAY_TRY(const auto entry, find_user(user));
  const auto give = [&](const fs::path& path) -> Result<void> {
    if (::lchown(path.c_str(), entry.uid, entry.gid) == 0) return {};
    return system_error(errno, fmt::format("cannot make {} one of the user '{}'", path.string(), user));
  };
  ASSAY_CHECK(give(folder));
  std::error_code code;
  for (fs::recursive_directory_iterator below(folder, code), end; !code && below != end; below.increment(code)) {
    ASSAY_CHECK(give(below->path()));
  }
  return code ? cannot_look_into(folder, code) : Result<void>();
}

}  // namespace assay
