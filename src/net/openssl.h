#pragma once

// OpenSSL objects that free themselves. Only for the sources of this module.

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <memory>
#include <string>

namespace assay {

struct OpensslDeleter {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(BIO* bio) const { BIO_free_all(bio); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(X509_STORE* store) const { X509_STORE_free(store); }
  void operator()(X509_STORE_CTX* context) const { X509_STORE_CTX_free(context); }
};
template <typename T>
using OpensslPointer = std::unique_ptr<T, OpensslDeleter>;

/// Of a certificate in memory: `sha256:…`, and `key-sha256:…` of its public key.
std::string fingerprint_of(const X509& certificate);
std::string key_fingerprint_of(const X509& certificate);
/// Takes the oldest entry from OpenSSL's queue of errors, and empties the queue.
std::string openssl_problem();

}  // namespace assay
