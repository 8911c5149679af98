#pragma once

#include <string>

namespace assay {

/// For tests alone: an attack on every format at once.
inline std::string hostile_text() {
  return "<script>alert('1')</script> & \"q\" | a|b\r\nnew\tline \xff\xc3 \x1b[31mred\x1b]0;t\x07 \xE2\x80\xAE"
         "evil "
         "שלום \xEF\xBF\xBF ]]> --> `c` *b* _e_ [l](http://x.test) $m$ " +
         std::string(300, 'w');
}

}  // namespace assay
