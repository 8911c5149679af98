#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

// What keeps strangers out of a load that several clients share: a secret that whoever started them gave them all, a
// key of each connection that follows from it, and a tag of each frame. Frames are not hidden, only known to be ours.

using LoadKey = std::array<unsigned char, 32>;
using LinkNonce = std::array<unsigned char, 32>;  ///< random, of one end of one connection
using FrameTag = std::array<unsigned char, 16>;

LoadKey make_load_key();
/// The same for everybody who has this secret.
LoadKey load_key_from(std::string_view secret);
LinkNonce make_link_nonce();

/// As 64 hexadecimal digits, for its owner alone (mode 0600).
Result<void> write_load_key(const std::filesystem::path& file, const LoadKey& key);
/// Errors: those of reading a file; `bad_file` for one that holds no key.
Result<LoadKey> read_load_key(const std::filesystem::path& file);

/// The key of one connection.
LoadKey link_key(const LoadKey& secret, const LinkNonce& coordinator, const LinkNonce& client);

/// The tag of the frame that is number `sequence` in its direction.
FrameTag tag_of(const LoadKey& link, unsigned char direction, std::uint64_t sequence, std::string_view frame);
/// In time that does not depend on where they differ.
bool same_tag(const FrameTag& one, std::span<const unsigned char> other);

}  // namespace assay
