#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "requests/lengths.h"
#include "requests/request_set.h"

namespace assay {

struct GeneratedOptions {
  RequestSeed seed;
  std::string instruction;  ///< stands in front of every prompt and behind the shared prefix; may be empty
  std::uint32_t instruction_tokens = 0;
  Lengths input = Lengths::fixed(128);  ///< of the whole prompt
  Lengths output = Lengths::fixed(64);
  double shared_prefix = 0;    ///< share of each prompt's tokens, 0…1, that it has in common with others at its start
  std::uint32_t prefixes = 1;  ///< so many different shared prefixes; a request picks one at random
};

/// Prompts of words, one user's question each. Endless. Errors (`bad_spec`): a share outside 0…1, no prefix.
Result<std::unique_ptr<RequestSet>> generate_requests(GeneratedOptions options);

/// Lengths and instruction like those of a known data set; its texts are words like those of every generated prompt.
struct RequestShape {
  std::string_view name;
  std::string_view about;
  std::string_view instruction;
  std::uint32_t instruction_tokens = 0;
  Lengths input;
  Lengths output;
};
/// `summarisation`: 66.8 tokens in and 31.3 out on average, never more than 32. `news`: like CNN-DailyMail, 780 in and
/// 128 out.
const std::vector<RequestShape>& built_in_shapes();
/// Null if there is none of that name.
const RequestShape* find_shape(std::string_view name);

}  // namespace assay
