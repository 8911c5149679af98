#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"

namespace assay {

struct TlsFiles;

/// The certificate of a server that was given none: EC P-256, valid for ten years for the given host names and
/// addresses. Made at the first call, found again at every later one (also when two servers start at once). The key is
/// in `assay-tls.pem` (mode 0600), a copy of the certificate alone, to hand out, in `assay-tls.crt`.
Result<TlsFiles> keep_self_made_certificate(const fs::path& folder, const std::vector<std::string>& names);

/// Those of the host names and addresses that the first certificate in a PEM file is not good for.
Result<std::vector<std::string>> names_not_covered(const fs::path& certificate, const std::vector<std::string>& names);

/// What a client may pin: the certificate itself (`sha256:` and 64 hexadecimal digits), its public key
/// (`key-sha256:…`), which a renewed certificate may keep, or the authority at the end of the chain in the file
/// (`ca-sha256:…`).
enum class Pinned { certificate, key, authority };

/// Of the certificate, or chain, in a PEM file. `usage` for the authority where the file has the certificate alone.
Result<std::string> certificate_fingerprint(const fs::path& certificate, Pinned what = Pinned::certificate);

/// Brings what people paste (`AB:CD…`, with or without `sha256:`) into the form above; several have commas between
/// them. Else an error of kind usage.
Result<std::string> parse_fingerprint(std::string_view text);

/// When the first certificate in a PEM file ceases to be good.
Result<WallTime> certificate_end(const fs::path& certificate);

}  // namespace assay
