#include "access/token_book.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "access/book_state.h"
#include "access/secrets.h"
#include "base/file_lock.h"
#include "base/ids.h"
#include "base/text.h"

namespace assay {
namespace {

constexpr Nanos kLongestLifetime = std::chrono::hours(24 * 365 * 100);
constexpr std::string_view kNodePrefix = "node:";

/// The entry of a new file must survive a power cut as well as its content.
Result<void> sync_folder(const fs::path& folder) {
  ASSAY_TRY(const auto opened, open_file(folder, O_RDONLY | O_DIRECTORY));
  if (::fsync(opened.get()) != 0) return system_error(errno, fmt::format("cannot sync '{}'", folder.string()));
  return {};
}

Result<void> make_if_missing(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  ASSAY_CHECK(make_folders(folder));
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file) return sync_folder(folder);
  if (errno == EEXIST) return {};
  return system_error(errno, fmt::format("cannot make '{}'", path.string()));
}

Result<std::string> read_from(int fd, std::size_t offset, std::size_t length) {
  std::string bytes(length, '\0');
  std::size_t have = 0;
  while (have < length) {
    const ssize_t got = ::pread(fd, bytes.data() + have, length - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, "cannot read");
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

}  // namespace

/// The file as far as it was read, and what it says.
class TokenBook::Shared {
 public:
  Shared(fs::path path, const Clock& clock, TokenBookLimits limits)
      : path_(std::move(path)), clock_(clock), limits_(limits) {}

  /// Reads what is new and hands the state to `ask`, under the lock of the state.
  template <typename Ask>
  auto with_state(Ask ask) -> decltype(ask(std::declval<const BookState&>())) {
    const std::lock_guard lock(state_mutex_);
    ASSAY_CHECK(refresh());
    return ask(state_);
  }

  /// What is known, fresh if the file can be read.
  template <typename Ask>
  auto with_last_state(Ask ask) {
    const std::lock_guard lock(state_mutex_);
    static_cast<void>(refresh().ok());
    return ask(state_);
  }

  /// Asks `decide(state)` for a record (or none) while no other process or thread can write, and appends it.
  template <typename Decide>
  Result<void> write(Decide decide) {
    const std::lock_guard writing(write_mutex_);
    // The lock would make a missing file too, but one that others can read.
    ASSAY_CHECK(make_if_missing(path_));
    ASSAY_TRY(const FileLock lock, FileLock::acquire(path_));
    ASSAY_TRY(const std::optional<TokenRecord> record, with_state(decide));
    if (!record) return {};
    // Without the state's lock: who only checks does not wait for the disk.
    ASSAY_CHECK(append(lock.descriptor(), *record).within(fmt::format("writing '{}'", path_.string())));
    return with_state([](const BookState&) { return Result<void>(); });
  }

  WallTime now() const { return clock_.wall(); }
  const TokenBookLimits& limits() const { return limits_; }

 private:
  Result<void> append(int fd, const TokenRecord& record);
  Result<void> refresh();
  Result<void> read_tail(std::size_t size);
  Error damaged(const Error& why) const;

  const fs::path path_;
  const Clock& clock_;
  const TokenBookLimits limits_;
  std::mutex write_mutex_;  ///< taken before the other one
  std::mutex state_mutex_;
  BookState state_;
  FileDescriptor file_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::size_t read_to_ = 0;  ///< the end of the last whole line that was read
  std::size_t lines_ = 0;
};

/// Notices with one stat(2) that the file has grown, or was replaced by another one (a restored backup).
Result<void> TokenBook::Shared::refresh() {
  struct stat info{};
  if (::stat(path_.c_str(), &info) != 0) {
    return system_error(errno, fmt::format("cannot look at '{}'", path_.string()));
  }
  ASSAY_CHECK(check_private(info.st_mode, path_));
  const auto size = static_cast<std::size_t>(info.st_size);
  if (!file_ || info.st_dev != device_ || info.st_ino != inode_ || size < read_to_) {
    ASSAY_TRY(file_, open_file(path_, O_RDONLY));
    device_ = info.st_dev;
    inode_ = info.st_ino;
    state_ = BookState();
    read_to_ = 0;
    lines_ = 0;
  }
  return size > read_to_ ? read_tail(size) : Result<void>();
}

Result<void> TokenBook::Shared::read_tail(std::size_t size) {
  if (size > limits_.bytes + kLongestTokenLine) {
    return Error{.kind = ErrorKind::bad_file,
                 .message = fmt::format("'{}' is larger than {} bytes", path_.string(), limits_.bytes),
                 .hint = "Move it away and make new tokens."};
  }
  auto read = read_from(file_.get(), read_to_, size - read_to_);
  if (!read) return std::move(read).error().within(fmt::format("reading '{}'", path_.string()));
  std::string_view tail = *read;
  // A last line without its end is being written just now, or its writer was killed: it does not count (yet).
  for (auto end = tail.find('\n'); end != std::string_view::npos; end = tail.find('\n')) {
    const auto record = parse_token_line(tail.substr(0, end));
    if (!record) return damaged(record.error());
    if (const auto applied = state_.apply(*record); !applied) return damaged(applied.error());
    tail.remove_prefix(end + 1);
    read_to_ += end + 1;
    ++lines_;
  }
  return {};
}

Error TokenBook::Shared::damaged(const Error& why) const {
  return {.kind = ErrorKind::bad_file,
          .message = why.message,
          .hint = "Restore the file from a backup, or move it away and make new tokens; every node joins again then.",
          .at = fmt::format("{}:{}", path_.string(), lines_ + 1)};
}

/// The lock is held and everything that is whole was read: what lies behind is a line whose writer was killed.
Result<void> TokenBook::Shared::append(int fd, const TokenRecord& record) {
  const std::string line = line_of(record);
  const bool revokes = std::holds_alternative<TokenRevoked>(record) || std::holds_alternative<NodeRevoked>(record);
  const std::size_t room = limits_.bytes - (revokes ? 0 : limits_.kept_for_revocations);
  ASSAY_ASSERT(line.size() <= kLongestTokenLine);
  const std::size_t end = [&] {
    const std::lock_guard lock(state_mutex_);
    return read_to_;
  }();
  if (end + line.size() > room) {
    return Error{.kind = ErrorKind::io,
                 .message = fmt::format("the book is full: it would be larger than {} bytes", room),
                 .hint = "Move the file away and make new tokens; every node joins again then."};
  }
  if (::ftruncate(fd, static_cast<off_t>(end)) != 0) return system_error(errno, "cannot cut off an unfinished line");
  if (::lseek(fd, static_cast<off_t>(end), SEEK_SET) < 0) return system_error(errno, "cannot seek");
  auto written = write_all(fd, line);
  if (written.ok() && ::fdatasync(fd) != 0) written = system_error(errno, "cannot sync");
  // What is reported as failed must not come into force later; if this fails too, half a line counts for nothing.
  if (!written.ok()) static_cast<void>(::ftruncate(fd, static_cast<off_t>(end)) == 0);
  return written;
}

TokenBook::TokenBook(std::unique_ptr<Shared> shared) : shared_(std::move(shared)) {}
TokenBook::TokenBook(TokenBook&&) noexcept = default;
TokenBook& TokenBook::operator=(TokenBook&&) noexcept = default;
TokenBook::~TokenBook() = default;

Result<TokenBook> TokenBook::open(const fs::path& file, const Clock& clock, TokenBookLimits limits) {
  ASSAY_CHECK(make_if_missing(file));
  auto shared = std::make_unique<Shared>(file, clock, limits);
  ASSAY_CHECK(shared->with_state([](const BookState&) { return Result<void>(); }));
  return TokenBook(std::move(shared));
}

namespace {

Result<void> check_terms(Role role, const JoinTerms& terms) {
  const auto bad = [](std::string message) { return Error{.kind = ErrorKind::usage, .message = std::move(message)}; };
  if (role != Role::agent && terms != JoinTerms()) return bad("only a token for agents says which nodes it lets in");
  if (!terms.nodes.empty() && !is_node_pattern(terms.nodes)) {
    return bad(fmt::format("'{}' is no pattern of names of nodes: gpu*, gpu0[1-8], or several with commas",
                           printable(terms.nodes.substr(0, 64))));
  }
  if (terms.most_nodes && *terms.most_nodes < 1) return bad("a join token must let in one node at least");
  return {};
}

}  // namespace

Result<TokenBook::NewToken> TokenBook::create(Role role, std::string name, std::optional<Nanos> lifetime,
                                              JoinTerms terms) {
  ASSAY_CHECK(check_terms(role, terms));
  const WallTime now = shared_->now();
  NewToken token{.info = {.id = new_id(), .role = role, .created = now}, .secret = new_secret()};
  token.info.name = name.empty() ? token.info.id : std::move(name);
  if (!is_token_name(token.info.name)) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("'{}' is no name for a token: 1 to 64 letters, digits, '-', '_', '.' and '@'",
                                        printable(token.info.name.substr(0, 64)))};
  }
  if (lifetime && (*lifetime <= Nanos(0) || *lifetime > kLongestLifetime)) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("a token cannot live for {} s: more than 0, at most 100 years",
                                        std::chrono::duration_cast<std::chrono::seconds>(*lifetime).count()),
                 .hint = "Leave the lifetime out for a token that is good until it is revoked."};
  }
  if (lifetime) token.info.expires = now + *lifetime;
  token.info.terms = std::move(terms);
  ASSAY_CHECK(shared_->write([&](const BookState& state) -> Result<std::optional<TokenRecord>> {
    const TokenInfo* other = state.find(token.info.name);
    if (other != nullptr && !other->revoked && (!other->expires || now < *other->expires)) {
      return Error{.kind = ErrorKind::usage,
                   .message = fmt::format("there is a token '{}' already ({})", token.info.name, other->id),
                   .hint = fmt::format("Choose another name, or revoke it: assay token revoke {}", other->id)};
    }
    return std::optional<TokenRecord>(TokenMade{.id = token.info.id,
                                                .name = token.info.name,
                                                .role = role,
                                                .hash = sha256_hex(token.secret),
                                                .time = now,
                                                .expires = token.info.expires,
                                                .terms = token.info.terms});
  }));
  return token;
}

Result<TokenInfo> TokenBook::revoke(std::string_view id_or_name, bool with_nodes) {
  TokenInfo info;
  ASSAY_CHECK(shared_->write([&](const BookState& state) -> Result<std::optional<TokenRecord>> {
    const WallTime now = shared_->now();
    if (id_or_name.starts_with(kNodePrefix)) {
      const std::string_view node = id_or_name.substr(kNodePrefix.size());
      if (const NodeKeyInfo* key = state.find_node(node)) {
        info = {.id = std::string(id_or_name), .name = key->node, .role = Role::agent, .created = key->joined};
        if (key->revoked) return std::optional<TokenRecord>();
        return std::optional<TokenRecord>(NodeRevoked{.node = key->node, .time = now});
      }
    } else if (const TokenInfo* token = state.find(id_or_name)) {
      info = *token;
      if (token->revoked && !with_nodes) return std::optional<TokenRecord>();
      return std::optional<TokenRecord>(TokenRevoked{.id = token->id, .time = now, .with_nodes = with_nodes});
    }
    return Error{.kind = ErrorKind::not_found,
                 .message = fmt::format("there is no token '{}'", printable(id_or_name.substr(0, 80))),
                 .hint = "Give its id or name (assay token list), or node:NAME for the key of a node."};
  }));
  info.revoked = true;
  return info;
}

Result<void> TokenBook::approve(std::string_view node) {
  return shared_->write([&](const BookState& state) -> Result<std::optional<TokenRecord>> {
    const NodeKeyInfo* key = state.find_node(node);
    if (key == nullptr || key->revoked) {
      return Error{.kind = ErrorKind::not_found,
                   .message = fmt::format("no node '{}' has joined", printable(node.substr(0, 80)))};
    }
    if (!key->waits) return std::optional<TokenRecord>();
    return std::optional<TokenRecord>(NodeApproved{.node = key->node, .time = shared_->now()});
  });
}

std::vector<TokenInfo> TokenBook::tokens() {
  return shared_->with_last_state([](const BookState& state) { return state.tokens(); });
}

std::vector<NodeKeyInfo> TokenBook::nodes() {
  return shared_->with_last_state([](const BookState& state) { return state.nodes(); });
}

Result<TokenInfo> TokenBook::check(std::string_view secret) {
  const WallTime now = shared_->now();
  return shared_->with_state([&](const BookState& state) { return state.check(secret, now); });
}

Result<TokenBook::Joined> TokenBook::join(std::string_view join_secret, std::string_view node, std::string_view key) {
  // First, and without the file's lock: strangers must not make us write, nor wait.
  ASSAY_TRY(const TokenInfo token, check(join_secret));
  if (token.role != Role::agent) {
    return Error{.kind = ErrorKind::denied,
                 .message = fmt::format("the token '{}' ({}) is for a {}, not for agents", token.name, token.id,
                                        name_of(token.role)),
                 .hint = "Make one with: assay token create --role agent"};
  }
  if (!is_node_name(node)) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("'{}' is no name for a node: 1 to 64 letters, digits, '-', '_' and '.', and "
                                        "not dots alone",
                                        printable(node.substr(0, 64)))};
  }
  if (!is_secret(key)) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("the key of node '{}' is not a mark and 64 hexadecimal digits", node)};
  }
  const auto may_join = [&](const BookState& state) -> Result<bool> {
    // Asked every time: another process may have been faster, or the token was revoked meanwhile.
    ASSAY_TRY(const TokenInfo still_good, state.check(join_secret, shared_->now()));
    ASSAY_TRY(const bool is_new, state.may_join(still_good, node, key));
    if (!is_new || state.good_nodes() < shared_->limits().nodes) return is_new;
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("{} nodes have joined, and no more are let in", state.good_nodes()),
                 .hint = "An administrator makes room: assay token revoke node:NAME, for nodes that are gone."};
  };
  ASSAY_TRY(const bool is_new, shared_->with_state(may_join));
  if (is_new) {
    ASSAY_CHECK(shared_->write([&](const BookState& state) -> Result<std::optional<TokenRecord>> {
      ASSAY_TRY(const bool still_new, may_join(state));
      if (!still_new) return std::optional<TokenRecord>();
      return std::optional<TokenRecord>(NodeJoined{.node = std::string(node),
                                                   .hash = sha256_hex(key),
                                                   .token = token.id,
                                                   .time = shared_->now(),
                                                   .waits = token.terms.needs_approval});
    }));
  }
  return shared_->with_state([&](const BookState& state) -> Result<Joined> {
    const NodeKeyInfo* known = state.find_node(node);
    return known != nullptr && known->waits ? Joined::waits : Joined::yes;
  });
}

Result<void> TokenBook::check_node(std::string_view node, std::string_view key) {
  return shared_->with_state([&](const BookState& state) { return state.check_node(node, key); });
}

}  // namespace assay
