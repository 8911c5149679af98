#include "access/secrets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "base/hash.h"
#include "base/text.h"

namespace assay {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kLargestSecretFile = 4096;
constexpr std::string_view kSecretMark = "assay_";
constexpr std::string_view kJoinMark = "assay-join:";
constexpr std::string_view kFingerprintMark = "sha256:";

bool is_hexadecimal(char character) {
  return (character >= '0' && character <= '9') || (character >= 'a' && character <= 'f') ||
         (character >= 'A' && character <= 'F');
}

/// One or several of what a client may know a server by, as net/tls.h has it.
bool is_fingerprint(std::string_view text) {
  const auto all = split(text, ',');
  return std::all_of(all.begin(), all.end(), [](std::string_view one) {
    for (const std::string_view mark : {"key-", "ca-"}) {
      if (one.starts_with(mark)) one.remove_prefix(mark.size());
    }
    return one.starts_with(kFingerprintMark) && is_sha256(one.substr(kFingerprintMark.size()));
  });
}

/// The whole of a small file that is open already, so that what was checked is what is read.
Result<std::string> read_small(int fd, const fs::path& path) {
  std::string text(kLargestSecretFile + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = ::read(fd, text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, fmt::format("cannot read '{}'", path.string()));
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
  }
  text.resize(length);
  return text;
}

}  // namespace

std::string new_secret() {
  std::array<unsigned char, kSecretBytes> bytes{};
  // Up to 256 bytes come whole or not at all, and not at all only on kernels older than any that we support.
  ASSAY_ASSERT(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return fmt::format("{}{}", kSecretMark, hexadecimal(bytes));
}

bool is_secret(std::string_view text) {
  return is_sha256(text.starts_with(kSecretMark) ? text.substr(kSecretMark.size()) : text);
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), is_hexadecimal);
}

std::string sha256_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  ASSAY_ASSERT(EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr) == 1);
  return hexadecimal(std::span(digest).first(length));
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string join_token_text(std::string_view secret, const std::optional<std::string>& fingerprint) {
  std::string text = fmt::format("{}{}", kJoinMark, secret);
  if (fingerprint) text += "@" + *fingerprint;
  return text;
}

Result<JoinToken> parse_join_token(std::string_view text) {
  text = trim(text);
  const Error bad{.kind = ErrorKind::usage,
                  .message = "this is not a join token: one looks like assay-join:SECRET@sha256:FINGERPRINT",
                  .hint = "Copy the whole line that 'assay token create --role agent' printed."};
  if (!text.starts_with(kJoinMark)) return bad;
  text.remove_prefix(kJoinMark.size());
  const auto at = text.find('@');
  JoinToken token{.secret = std::string(text.substr(0, at))};
  if (!is_secret(token.secret)) return bad;
  if (at != std::string_view::npos) {
    token.fingerprint = std::string(text.substr(at + 1));
    if (!is_fingerprint(*token.fingerprint)) return bad;
  }
  return token;
}

Result<std::string> read_secret_file(const fs::path& path) {
  // A pipe would wait for a writer.
  ASSAY_TRY(const auto file, open_file(path, O_RDONLY | O_NONBLOCK));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return system_error(errno, fmt::format("cannot look at '{}'", path.string()));
  ASSAY_CHECK(check_private(info.st_mode, path));
  ASSAY_TRY(const std::string content, read_small(file.get(), path));
  if (content.size() > kLargestSecretFile) {
    return Error{
        .kind = ErrorKind::bad_file,
        .message = fmt::format("'{}' is longer than {} bytes: no secret is", path.string(), kLargestSecretFile),
        .hint = "Is this the right file?"};
  }
  std::string secret(trim(content));
  if (secret.empty()) {
    return Error{.kind = ErrorKind::bad_file,
                 .message = fmt::format("'{}' is empty", path.string()),
                 .hint = "Put the secret into it, on one line."};
  }
  return secret;
}

Result<void> write_secret_file(const fs::path& path, std::string_view text) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file && errno == EEXIST) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("'{}' exists already and is not overwritten", path.string()),
                 .hint = "Remove it first, or name another file."};
  }
  if (!file) return system_error(errno, fmt::format("cannot make '{}'", path.string()));
  const auto write = [&]() -> Result<void> {
    ASSAY_CHECK(write_all(file.get(), text));
    ASSAY_CHECK(write_all(file.get(), "\n"));
    if (::fsync(file.get()) != 0) return system_error(errno, "cannot sync");
    return {};
  };
  auto result = write();
  // Half a secret would be refused as wrong later, far away from the reason.
  if (!result) ::unlink(path.c_str());
  return std::move(result).within(fmt::format("writing '{}'", path.string()));
}

Result<void> check_private(unsigned mode, const fs::path& path) {
  if ((mode & 077U) == 0) return {};
  return Error{
      .kind = ErrorKind::denied,
      .message = fmt::format("'{}' holds secrets, but its mode {:o} lets others at it", path.string(), mode & 0777U),
      .hint = fmt::format("Run: chmod 600 '{}'", path.string())};
}

}  // namespace assay
