#include "requests/request_set.h"

#include "base/hash.h"

namespace assay {

void PromptRequest::clear() {
  prompt.clear();
  messages.clear();
  input_tokens = 0;
  output_tokens = 0;
  reference.clear();
}

std::uint64_t RequestSeed::combined() const { return stable_hash(std::to_string(seed) + '/' + cell); }

}  // namespace assay
