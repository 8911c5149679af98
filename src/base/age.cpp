#include "base/age.h"

#include <string>

#include "base/ascii.h"
#include "base/units.h"

namespace assay {
Result<Nanos> parse_age(std::string_view text) {
  std::string spelled;
  for (std::size_t i = 0; i < text.size(); ++i) {
    spelled += text[i];
    const bool begins = i > 0 && (is_digit(text[i - 1]) || text[i - 1] == ' ');
    const bool ends = i + 1 == text.size() || !is_letter(text[i + 1]);
    if (text[i] == 'm' && begins && ends) spelled += "in";
  }
  return parse_duration(spelled);
}

}  // namespace assay
