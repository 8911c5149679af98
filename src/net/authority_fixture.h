#pragma once

#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <stdexcept>

#include "net/openssl.h"
#include "net/tls_files.h"

namespace assay {

/// For tests: an authority that issues certificates, as that of a site does.
class TestAuthority {
 public:
  TestAuthority() : key_(new_key()) { certificate_ = make("Test authority", *key_, "CA:TRUE", ""); }

  /// A file with the key, the certificate for that host or address, and the authority's. With `key`: for the key in
  /// that file. `shown`: whose certificate to put in the place of this authority's.
  TlsFiles issue(const fs::path& file, const std::string& host, const fs::path& key = {},
                 const TestAuthority* shown = nullptr) const {
    const auto own = key.empty() ? new_key() : read_key(key);
    const bool is_address = host.find_first_not_of("0123456789.") == std::string::npos;
    const auto certificate = make(host, *own, "CA:FALSE", (is_address ? "IP:" : "DNS:") + host);
    std::FILE* out = std::fopen(file.c_str(), "w");
    if (!out) throw std::runtime_error("cannot write " + file.string());
    PEM_write_PKCS8PrivateKey(out, own.get(), nullptr, nullptr, 0, nullptr, nullptr);
    PEM_write_X509(out, certificate.get());
    PEM_write_X509(out, (shown ? shown : this)->certificate_.get());
    std::fclose(out);
    return {.certificate = file, .key = file};
  }

 private:
  static OpensslPointer<EVP_PKEY> new_key() {
    return OpensslPointer<EVP_PKEY>(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  }
  static OpensslPointer<EVP_PKEY> read_key(const fs::path& file) {
    std::FILE* in = std::fopen(file.c_str(), "r");
    OpensslPointer<EVP_PKEY> key(in ? PEM_read_PrivateKey(in, nullptr, nullptr, nullptr) : nullptr);
    if (in) std::fclose(in);
    return key;
  }
  OpensslPointer<X509> make(const std::string& name, EVP_PKEY& key, const char* constraints,
                            const std::string& alternatives) const {
    OpensslPointer<X509> made(X509_new());
    X509_set_version(made.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
    X509_set_pubkey(made.get(), &key);
    X509_NAME* subject = X509_get_subject_name(made.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()), -1,
                               -1, 0);
    X509_set_issuer_name(made.get(), certificate_ ? X509_get_subject_name(certificate_.get()) : subject);
    add(*made, NID_basic_constraints, constraints);
    if (!alternatives.empty()) add(*made, NID_subject_alt_name, alternatives);
    X509_sign(made.get(), key_.get(), EVP_sha256());
    return made;
  }
  static void add(X509& to, int what, const std::string& value) {
    const OpensslPointer<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, nullptr, what, value.c_str()));
    X509_add_ext(&to, extension.get(), -1);
  }

  mutable long serial_ = 0;
  OpensslPointer<EVP_PKEY> key_;
  OpensslPointer<X509> certificate_;
};

}  // namespace assay
