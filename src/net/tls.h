#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace assay {

/// What a TLS server shows and proves: PEM files. The certificate file may hold a chain, its own certificate first.
struct TlsFiles {
  fs::path certificate;
  fs::path key;
};

/// What a TLS client believes. A fingerprint pins one certificate and asks for nothing else (no name, no authority);
/// else the chain must end at the CA file or, without one, at the system's store, and the name must match.
struct TlsTrust {
  std::string fingerprint;  ///< as `certificate_fingerprint` gives it
  fs::path ca_file;
};

/// The certificate of a server that was given none: EC P-256, valid for ten years for the given host names and
/// addresses. Made at the first call, found again at every later one (also when two servers start at once). The key is
/// in `assay-tls.pem` (mode 0600), a copy of the certificate alone, to hand out, in `assay-tls.crt`.
Result<TlsFiles> keep_self_made_certificate(const fs::path& folder, const std::vector<std::string>& names);

/// Those of the host names and addresses that the first certificate in a PEM file is not good for.
Result<std::vector<std::string>> names_not_covered(const fs::path& certificate, const std::vector<std::string>& names);

/// SHA-256 of the first certificate in a PEM file: `sha256:` and 64 hexadecimal digits.
Result<std::string> certificate_fingerprint(const fs::path& certificate);

/// Brings what people paste (`AB:CD…`, with or without `sha256:`) into the form above. Else an error of kind usage.
Result<std::string> parse_fingerprint(std::string_view text);

}  // namespace assay
