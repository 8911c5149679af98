#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "support/source_tree.h"

namespace assay::test {

/// The lines in which two texts differ, each with its number, those of one place together: what was lost, what is new.
/// A place ends where the next line of both that is the same stands. At most so many lines.
inline std::string different_lines(const std::vector<std::string>& there, const std::vector<std::string>& wanted,
                                   std::size_t most = 24) {
  std::string text;
  std::size_t shown = 0;
  const auto show = [&](char mark, const std::vector<std::string>& lines, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      if (shown++ < most) text += mark + std::to_string(i + 1) + ": " + lines[i] + "\n";
    }
  };
  std::size_t a = 0;
  std::size_t b = 0;
  while (a < there.size() || b < wanted.size()) {
    if (a < there.size() && b < wanted.size() && there[a] == wanted[b]) {
      ++a, ++b;
      continue;
    }
    // The nearest place from which on both go on alike.
    std::size_t skip_a = there.size() - a;
    std::size_t skip_b = wanted.size() - b;
    for (std::size_t distance = 1; distance < skip_a + skip_b; ++distance) {
      for (std::size_t i = 0; i <= distance; ++i) {
        const std::size_t j = distance - i;
        if (a + i < there.size() && b + j < wanted.size() && there[a + i] == wanted[b + j]) {
          skip_a = i, skip_b = j;
          distance = skip_a + skip_b;
          break;
        }
      }
    }
    show('-', there, a, a + skip_a);
    show('+', wanted, b, b + skip_b);
    a += skip_a;
    b += skip_b;
  }
  if (shown > most) text += "… and " + std::to_string(shown - most) + " more\n";
  return text;
}

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
  ADD_FAILURE() << page << " is not what its table makes of it (-: the page, +: the table):\n"
                << different_lines({there.begin(), there.end()}, {wanted.begin(), wanted.end()})
                << "Run scripts/renew_docs.sh and commit the page.";
}

}  // namespace assay::test
