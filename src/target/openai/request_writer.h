#pragma once

#include <string>
#include <string_view>

#include "requests/request_set.h"
#include "target/openai/openai_options.h"

namespace assay {

/// Writes HTTP requests for one endpoint. What is the same in all of them is made once. Not thread-safe.
class RequestWriter {
 public:
  RequestWriter(const OpenAiOptions& options, const OpenAiEndpoint& endpoint);

  /// Replaces `out` by head and body.
  void write(const PromptRequest& request, std::string& out);
  /// The body alone.
  const std::string& body_of(const PromptRequest& request);

 private:
  OpenAiOptions::Api api_;
  std::string head_;   ///< up to the number of Content-Length
  std::string start_;  ///< of the body: `{"model":"m",…`
  std::string body_;
};

/// Appends a text (UTF-8) with what JSON must not hold as it is replaced by escapes; the quotes around it are not
/// written.
void append_escaped(std::string_view text, std::string& out);

}  // namespace assay
