#include "sharing/load_key.h"

#include <fcntl.h>
#include <sodium.h>

#include "base/assert.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"

namespace assay {
namespace {

template <typename Bytes>
Bytes random_bytes() {
  ASSAY_ASSERT(sodium_init() >= 0);
  Bytes bytes;
  ::randombytes_buf(bytes.data(), bytes.size());
  return bytes;
}

void add_number(crypto_generichash_state& state, std::uint64_t number) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(number >> (8 * i));
  ::crypto_generichash_update(&state, bytes, sizeof bytes);
}

const unsigned char* as_bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

}  // namespace

LoadKey make_load_key() { return random_bytes<LoadKey>(); }
LoadKey load_key_from(std::string_view secret) {
  LoadKey key{};
  ::crypto_generichash(key.data(), key.size(), as_bytes(secret), secret.size(), nullptr, 0);
  return key;
}
LinkNonce make_link_nonce() { return random_bytes<LinkNonce>(); }

Result<void> write_load_key(const std::filesystem::path& file, const LoadKey& key) {
  ASSAY_TRY(const auto opened, open_file(file, O_WRONLY | O_CREAT | O_TRUNC, 0600));
  return write_all(opened.get(), hexadecimal(key) + "\n");
}

Result<LoadKey> read_load_key(const std::filesystem::path& file) {
  ASSAY_TRY(const auto text, read_file(file, 1024));
  const std::string_view digits = trim(text);
  LoadKey key{};
  std::size_t length = 0;
  const bool read =
      ::sodium_hex2bin(key.data(), key.size(), digits.data(), digits.size(), nullptr, &length, nullptr) == 0;
  if (!read || length != key.size() || digits.size() != 2 * key.size()) {
    return Error{.kind = ErrorKind::bad_file, .message = "no key of 64 hexadecimal digits", .at = file.string()};
  }
  return key;
}

LoadKey link_key(const LoadKey& secret, const LinkNonce& coordinator, const LinkNonce& client) {
  constexpr std::string_view kPurpose = "assay shared load";
  LoadKey key{};
  crypto_generichash_state state;
  ::crypto_generichash_init(&state, secret.data(), secret.size(), key.size());
  ::crypto_generichash_update(&state, as_bytes(kPurpose), kPurpose.size());
  ::crypto_generichash_update(&state, coordinator.data(), coordinator.size());
  ::crypto_generichash_update(&state, client.data(), client.size());
  ::crypto_generichash_final(&state, key.data(), key.size());
  return key;
}

FrameTag tag_of(const LoadKey& link, unsigned char direction, std::uint64_t sequence, std::string_view frame) {
  FrameTag tag{};
  crypto_generichash_state state;
  ::crypto_generichash_init(&state, link.data(), link.size(), tag.size());
  ::crypto_generichash_update(&state, &direction, 1);
  add_number(state, sequence);
  ::crypto_generichash_update(&state, as_bytes(frame), frame.size());
  ::crypto_generichash_final(&state, tag.data(), tag.size());
  return tag;
}

bool same_tag(const FrameTag& one, std::span<const unsigned char> other) {
  return other.size() == one.size() && ::sodium_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace assay
