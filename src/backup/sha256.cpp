#include "backup/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <span>

#include "base/assert.h"
#include "base/hash.h"

namespace assay {
namespace {

EVP_MD_CTX* digest_of(void* context) { return static_cast<EVP_MD_CTX*>(context); }

}  // namespace

void Sha256::Free::operator()(void* context) const { EVP_MD_CTX_free(digest_of(context)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  ASSAY_ASSERT(context_ && EVP_DigestInit_ex(digest_of(context_.get()), EVP_sha256(), nullptr) == 1);
}

void Sha256::add(std::string_view bytes) {
  ASSAY_ASSERT(EVP_DigestUpdate(digest_of(context_.get()), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::digits() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  ASSAY_ASSERT(EVP_DigestFinal_ex(digest_of(context_.get()), digest.data(), &size) == 1);
  return hexadecimal(std::span(digest).first(size));
}

}  // namespace assay
