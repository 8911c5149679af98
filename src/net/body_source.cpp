#include "net/body_source.h"

namespace assay {

Result<std::uint64_t> pour(BodySource& source, const BodySink& sink) {
  std::uint64_t bytes = 0;
  for (;;) {
    ASSAY_TRY(const auto piece, source.next());
    if (!piece) return bytes;
    bytes += piece->size();
    ASSAY_CHECK(sink(*piece));
  }
}

}  // namespace assay
