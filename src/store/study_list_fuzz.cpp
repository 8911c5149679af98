#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "store/study_list.h"

// Whatever place is asked for, a page holds no more than was wanted, and going on ends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  assay::StudyQuery query{.limit = 1, .after = std::string(reinterpret_cast<const char*>(data), size)};
  const std::vector<assay::StudyRow> rows = {{.id = "c"}, {.id = "b"}, {.id = "a"}};
  for (int asked = 0;; ++asked) {
    const auto page = assay::page_of(rows, query);
    if (!page) return 0;
    if (page->rows.size() > 1 || asked > 3) std::abort();
    if (page->next.empty()) return 0;
    query.after = page->next;
  }
}
