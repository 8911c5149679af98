#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"

namespace assay {

/// A token, or an agent's key: 32 random bytes from the kernel as hexadecimal digits, behind a mark by which one is
/// known wherever it should not be.
std::string new_secret();

/// What `new_secret` makes, or once made: without the mark.
bool is_secret(std::string_view text);

/// 64 hexadecimal digits.
bool is_sha256(std::string_view text);

/// The SHA-256 of a text as 64 hexadecimal digits: all that is ever stored of a secret.
std::string sha256_hex(std::string_view text);

/// Takes as long for equal texts as for different ones.
bool equal_in_constant_time(std::string_view a, std::string_view b);

/// What an administrator hands to a new agent.
struct JoinToken {
  std::string secret;
  std::optional<std::string> fingerprint;  ///< by what the leader is known, see net/tls.h; absent for one on loopback
  bool operator==(const JoinToken&) const = default;
};

/// `assay-join:SECRET@sha256:…`, or `assay-join:SECRET`.
std::string join_token_text(std::string_view secret, const std::optional<std::string>& fingerprint);
/// Reads what `join_token_text` writes; blanks around it do not matter. `usage` for all else; the message never
/// repeats the text.
Result<JoinToken> parse_join_token(std::string_view text);

/// The text of a file that holds one secret, without blanks around it. `denied` where group or others may read the
/// file, `bad_file` where it is empty or longer than 4 KiB, and the errors of `read_file`.
Result<std::string> read_secret_file(const fs::path& path);
/// Writes a new file that only its owner can read, from its first byte on. `usage` if there is one already.
Result<void> write_secret_file(const fs::path& path, std::string_view text);

/// `denied`, with what to do about it, where the mode of a file lets group or others at it.
Result<void> check_private(unsigned mode, const fs::path& path);

}  // namespace assay
