#include "target/openai/openai_options.h"

#include "base/text.h"
#include "redact/redact.h"

namespace assay {
namespace {

std::string path_below(const Url& base, std::string_view path) {
  std::string target = base.target;
  while (target.ends_with('/')) target.pop_back();
  return target + std::string(path);
}

}  // namespace

std::string completions_path(const OpenAiOptions& options, const Url& base) {
  return path_below(base, options.api == OpenAiOptions::Api::chat ? "/chat/completions" : "/completions");
}

std::string models_path(const Url& base) { return path_below(base, "/models"); }

std::string words_of_server(const OpenAiOptions& options, std::string words) {
  if (!options.token.empty()) {
    const std::size_t step = kRedacted.size();
    for (std::size_t at = words.find(options.token); at != std::string::npos;
         at = words.find(options.token, at + step)) {
      words.replace(at, options.token.size(), kRedacted);
    }
  }
  return redact(printable(trim(words)));
}

}  // namespace assay
