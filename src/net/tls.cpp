#include "net/tls.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "base/text.h"
#include "net/openssl.h"
#include "net/tls_files.h"

namespace assay {
namespace {

constexpr std::string_view kFingerprintPrefix = "sha256:";
constexpr std::string_view kKeyPrefix = "key-sha256:";
constexpr std::string_view kAuthorityMark = "ca-";
constexpr std::string_view kAuthorityPrefix = "ca-sha256:";
constexpr long kDay = 24L * 60 * 60;
constexpr long kTenYears = 3652 * kDay;

Error openssl_error(std::string doing) {
  return Error{.kind = ErrorKind::internal, .message = fmt::format("{}: {}", doing, openssl_problem())};
}

bool is_address(const std::string& text) {
  in6_addr address{};  // the larger one
  return ::inet_pton(AF_INET, text.c_str(), &address) == 1 || ::inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

/// `DNS:leader,IP:10.0.0.1`, or an error for a name that OpenSSL's list syntax could be tricked with.
Result<std::string> alternative_names(const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const auto& name : names) {
    const bool numeric = is_address(name);
    const bool plain = !name.empty() && std::ranges::all_of(name, [](unsigned char character) {
      return std::isalnum(character) || character == '.' || character == '-' || character == '_' || character == '*';
    });
    if (!numeric && !plain) {
      return Error{.kind = ErrorKind::usage,
                   .message = fmt::format("'{}' is neither a host name nor an address", printable(name))};
    }
    parts.push_back((numeric ? "IP:" : "DNS:") + name);
  }
  return join(parts, ",");
}

Result<void> add_extension(X509& certificate, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, &certificate, &certificate, nullptr, nullptr, 0);
  const OpensslPointer<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  if (!extension || X509_add_ext(&certificate, extension.get(), -1) != 1) {
    return openssl_error("cannot make a certificate");
  }
  return {};
}

Result<void> fill_certificate(X509& certificate, EVP_PKEY& key, const std::string& names) {
  std::array<unsigned char, 16> serial{};
  if (RAND_bytes(serial.data(), static_cast<int>(serial.size())) != 1)
    return openssl_error("cannot draw a serial number");
  serial[0] &= 0x7F;  // a positive number, as RFC 5280 wants it
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(
      BN_bin2bn(serial.data(), static_cast<int>(serial.size()), nullptr), &BN_free);
  X509_NAME* subject = X509_get_subject_name(&certificate);
  const bool filled = number && X509_set_version(&certificate, X509_VERSION_3) == 1 &&
                      BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)) != nullptr &&
                      // From yesterday on: the clocks of a cluster differ.
                      X509_gmtime_adj(X509_getm_notBefore(&certificate), -kDay) != nullptr &&
                      X509_gmtime_adj(X509_getm_notAfter(&certificate), kTenYears) != nullptr &&
                      X509_set_pubkey(&certificate, &key) == 1 &&
                      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                                 reinterpret_cast<const unsigned char*>("assay"), -1, -1, 0) == 1 &&
                      X509_set_issuer_name(&certificate, subject) == 1;
  if (!filled) return openssl_error("cannot make a certificate");
  ASSAY_CHECK(add_extension(certificate, NID_basic_constraints, "critical,CA:FALSE"));
  ASSAY_CHECK(add_extension(certificate, NID_key_usage, "critical,digitalSignature"));
  ASSAY_CHECK(add_extension(certificate, NID_ext_key_usage, "serverAuth"));
  ASSAY_CHECK(add_extension(certificate, NID_subject_alt_name, names));
  if (X509_sign(&certificate, &key, EVP_sha256()) == 0) return openssl_error("cannot sign a certificate");
  return {};
}

std::string content_of(BIO& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(&bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

/// Key and certificate as one PEM text, so that one file holds a pair that belongs together.
Result<std::string> make_pem(const std::vector<std::string>& names) {
  ASSAY_TRY(const auto alternatives, alternative_names(names));
  const OpensslPointer<EVP_PKEY> key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  const OpensslPointer<X509> certificate(X509_new());
  const OpensslPointer<BIO> out(BIO_new(BIO_s_mem()));
  if (!key || !certificate || !out) return openssl_error("cannot make a key");
  ASSAY_CHECK(fill_certificate(*certificate, *key, alternatives));
  if (PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1 ||
      PEM_write_bio_X509(out.get(), certificate.get()) != 1) {
    return openssl_error("cannot write a key");
  }
  return content_of(*out);
}

/// Puts the file there unless there is one already; nobody ever sees half of it, nor with a wider mode.
Result<void> write_secret_once(const fs::path& path, std::string_view content) {
  const fs::path temporary = path.string() + "." + new_id() + ".tmp";
  const auto write = [&]() -> Result<void> {
    ASSAY_TRY(const auto file, open_file(temporary, O_WRONLY | O_CREAT | O_EXCL, 0600));
    ASSAY_CHECK(write_all(file.get(), content));
    if (::fdatasync(file.get()) != 0) return system_error(errno, "cannot sync");
    if (::link(temporary.c_str(), path.c_str()) == 0 || errno == EEXIST) return {};
    // File systems without hard links: the last writer wins.
    if (::rename(temporary.c_str(), path.c_str()) != 0) return system_error(errno, "cannot rename");
    return {};
  };
  auto result = write();
  ::unlink(temporary.c_str());
  return std::move(result).within(fmt::format("writing '{}'", path.string()));
}

/// The certificates in a PEM file, in their order: one at least.
Result<std::vector<OpensslPointer<X509>>> read_chain(const fs::path& path) {
  ASSAY_TRY(const auto text, read_file(path, std::size_t{1} << 20));
  const OpensslPointer<BIO> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  std::vector<OpensslPointer<X509>> chain;
  while (bio) {
    OpensslPointer<X509> certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (!certificate) break;
    chain.push_back(std::move(certificate));
  }
  // At its end, too.
  ERR_clear_error();
  if (!chain.empty()) return chain;
  return Error{.kind = ErrorKind::bad_file,
               .message = fmt::format("'{}' holds no certificate", path.string()),
               .hint = "It must be a PEM file with a '-----BEGIN CERTIFICATE-----' line."};
}

Result<OpensslPointer<X509>> read_certificate(const fs::path& path) {
  ASSAY_TRY(auto chain, read_chain(path));
  return std::move(chain.front());
}

}  // namespace

std::string openssl_problem() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(code);
  return reason ? reason : "unknown problem of OpenSSL";
}

std::string fingerprint_of(const X509& certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  ASSAY_ASSERT(X509_digest(&certificate, EVP_sha256(), digest.data(), &size) == 1);
  return std::string(kFingerprintPrefix) + hexadecimal(std::span(digest).first(size));
}

std::string key_fingerprint_of(const X509& certificate) {
  unsigned char* encoded = nullptr;
  const int length = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(&certificate), &encoded);
  ASSAY_ASSERT(length > 0);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  const int digested =
      EVP_Digest(encoded, static_cast<std::size_t>(length), digest.data(), &size, EVP_sha256(), nullptr);
  OPENSSL_free(encoded);
  ASSAY_ASSERT(digested == 1);
  return std::string(kKeyPrefix) + hexadecimal(std::span(digest).first(size));
}

Result<std::string> certificate_fingerprint(const fs::path& certificate, Pinned what) {
  ASSAY_TRY(const auto chain, read_chain(certificate));
  if (what == Pinned::certificate) return fingerprint_of(*chain.front());
  if (what == Pinned::key) return key_fingerprint_of(*chain.front());
  if (chain.size() == 1) {
    return Error{
        .kind = ErrorKind::usage,
        .message =
            fmt::format("'{}' holds a certificate alone, and not the authority that it is from", certificate.string()),
        .hint = "Append the authority's certificate to the file: the server shows it then, and clients pin it."};
  }
  return std::string(kAuthorityMark) + fingerprint_of(*chain.back());
}

Result<WallTime> certificate_end(const fs::path& certificate) {
  ASSAY_TRY(const auto chain, read_chain(certificate));
  std::tm time{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(chain.front().get()), &time) != 1) {
    return openssl_error(fmt::format("'{}' does not say until when it is good", certificate.string()));
  }
  return WallTime(std::chrono::seconds(::timegm(&time)));
}

Result<std::vector<std::string>> names_not_covered(const fs::path& certificate, const std::vector<std::string>& names) {
  ASSAY_TRY(const auto read, read_certificate(certificate));
  std::vector<std::string> missing;
  for (const auto& name : names) {
    const bool good = is_address(name) ? X509_check_ip_asc(read.get(), name.c_str(), 0) == 1
                                       : X509_check_host(read.get(), name.data(), name.size(), 0, nullptr) == 1;
    if (!good) missing.push_back(name);
  }
  return missing;
}

namespace {

Result<std::string> parse_one_fingerprint(std::string_view text) {
  std::string digits = lower_case(trim(text));
  std::string_view prefix = kFingerprintPrefix;
  for (const std::string_view known : {kFingerprintPrefix, kKeyPrefix, kAuthorityPrefix}) {
    if (!digits.starts_with(known)) continue;
    prefix = known;
    digits.erase(0, known.size());
    break;
  }
  std::erase(digits, ':');
  const bool valid = digits.size() == 64 && digits.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!valid) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("'{}' is no fingerprint of a certificate", printable(text)),
                 .hint =
                     "It is 'sha256:', 'key-sha256:' or 'ca-sha256:' and 64 hexadecimal digits; the server prints it "
                     "when it starts."};
  }
  return std::string(prefix) + digits;
}

}  // namespace

Result<std::string> parse_fingerprint(std::string_view text) {
  std::string all;
  for (const auto one : split(text, ',')) {
    ASSAY_TRY(const auto fingerprint, parse_one_fingerprint(one));
    if (!all.empty()) all += ',';
    all += fingerprint;
  }
  return all;
}

Result<TlsFiles> keep_self_made_certificate(const fs::path& folder, const std::vector<std::string>& names) {
  const TlsFiles files{.certificate = folder / "assay-tls.crt", .key = folder / "assay-tls.pem"};
  std::error_code code;
  if (!fs::exists(files.key, code)) {
    ASSAY_CHECK(make_folders(folder));
    ASSAY_TRY(const auto pem, make_pem(names));
    ASSAY_CHECK(write_secret_once(files.key, pem));
  }
  // Always made anew from the pair: it cannot belong to another key.
  ASSAY_TRY(const auto certificate, read_certificate(files.key));
  const OpensslPointer<BIO> out(BIO_new(BIO_s_mem()));
  if (!out || PEM_write_bio_X509(out.get(), certificate.get()) != 1) return openssl_error("cannot write a certificate");
  const std::string text = content_of(*out);
  const auto present = read_file(files.certificate);
  if (!present || *present != text) ASSAY_CHECK(write_file_atomically(files.certificate, text));
  return files;
}

}  // namespace assay
