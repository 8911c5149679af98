#include "mistakes.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {

Error mistakes_error(const Context& context, const std::vector<Diagnostic>& mistakes, std::string hint) {
  std::string list;
  for (const auto& mistake : mistakes) list += (list.empty() ? "" : "\n") + mistake.text();
  if (!context.json) print_error(list + "\n");
  const Diagnostic& first = mistakes.front();
  // What stands on the command line and in the environment is usage; what stands in a file is the file's mistake.
  const bool in_file = std::any_of(mistakes.begin(), mistakes.end(), [](const Diagnostic& m) { return m.line > 0; });
  Error error{.kind = in_file ? ErrorKind::bad_spec : ErrorKind::usage,
              .message = context.json
                             ? list
                             : fmt::format("{} mistake{} found", mistakes.size(), mistakes.size() == 1 ? "" : "s"),
              .hint = std::move(hint)};
  if (context.json && in_file) error.at = fmt::format("{}:{}:{}", first.file, first.line, first.column);
  return error;
}

}  // namespace assay
