#pragma once

// OpenSSL objects that free themselves. Only for the sources of this module.

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace assay {

struct OpensslDeleter {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(BIO* bio) const { BIO_free_all(bio); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};
template <typename T>
using OpensslPointer = std::unique_ptr<T, OpensslDeleter>;

/// `sha256:…` of a certificate in memory.
std::string fingerprint_of(const X509& certificate);
/// Takes the oldest entry from OpenSSL's queue of errors, and empties the queue.
std::string openssl_problem();

}  // namespace assay
