#pragma once

#include <string>

#include "base/files.h"

namespace assay {

/// What a TLS client believes. A fingerprint pins the server, and nothing else is asked: its certificate or its key,
/// whatever the name; or an authority of the chain that it shows, from which the certificate must come for the name
/// that was asked for. Without one the chain must end at the CA file or else at the system's store, and the name must
/// match.
struct TlsTrust {
  std::string fingerprint;  ///< as `parse_fingerprint` gives it; of several, one must fit
  fs::path ca_file;
  std::string ca_text = {};  ///< instead of a file: certificates in PEM
};

/// What a TLS client shows to a server that asks who it is: PEM texts, the certificate perhaps with its chain. Both
/// empty: it shows nothing.
struct TlsIdentity {
  std::string certificate = {};
  std::string key = {};
};

}  // namespace assay
