#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "base/text.h"
#include "support/source_tree.h"

namespace assay::test {

/// A page of docs/ that is made from a table in the code is what that table makes of it. `scripts/renew_docs.sh` sets
/// ASSAY_UPDATE_DOCS, which writes it anew. Says which lines differ, not the whole page.
inline void expect_generated_page(const char* page, const std::string& generated) {
  const auto path = source_folder() / page;
  if (std::getenv("ASSAY_UPDATE_DOCS") != nullptr) {
    ASSERT_TRUE(write_file_atomically(path, generated).ok());
  }
  const auto text = read_file(path);
  ASSERT_TRUE(text.ok()) << text.error().text();
  if (*text == generated) return;
  const auto there = split(*text, '\n');
  const auto wanted = split(generated, '\n');
  std::size_t first = 0;
  while (first < there.size() && first < wanted.size() && there[first] == wanted[first]) ++first;
  const auto line = [first](const auto& lines) {
    return first < lines.size() ? std::string(lines[first]) : "(its end)";
  };
  ADD_FAILURE() << page << " is not what its table makes of it; the first difference is in line " << first + 1
                << "\n  there   " << line(there) << "\n  wanted  " << line(wanted)
                << "\nRun scripts/renew_docs.sh and commit the page.";
}

}  // namespace assay::test
