#pragma once

#include "base/files.h"

namespace assay {

/// What a TLS server shows and proves: PEM files. The certificate file may hold a chain, its own certificate first.
struct TlsFiles {
  fs::path certificate;
  fs::path key;
};

}  // namespace assay
