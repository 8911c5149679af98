#include "target/openai/request_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/version.h"

namespace assay {
namespace {

bool needs_escape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

/// The members that every body has, without the brace that closes it.
std::string body_start(const OpenAiOptions& options) {
  json::object body;
  body["model"] = options.model;
  body["temperature"] = options.temperature;
  if (options.ignore_eos) body["ignore_eos"] = true;
  for (const auto& [key, value] : options.extra_body) body[key] = value;
  for (const char* own : {"prompt", "messages", "max_tokens"}) body.erase(own);
  body["stream"] = options.stream;
  if (options.stream) {
    json::object wanted;
    if (const auto* given = options.extra_body.if_contains("stream_options"); given && given->is_object()) {
      wanted = given->get_object();
    }
    wanted["include_usage"] = true;
    body["stream_options"] = std::move(wanted);
  } else {
    body.erase("stream_options");
  }
  std::string text = json::serialize(body);
  text.pop_back();
  return text;
}

}  // namespace

void append_escaped(std::string_view text, std::string& out) {
  const auto* const first = std::find_if(text.begin(), text.end(), needs_escape);
  out.append(text.begin(), first);
  if (first == text.end()) return;
  // Not the path of generated prompts: let the JSON library do it.
  const std::string quoted = json::serialize(json::string(first, text.end()));
  out.append(quoted, 1, quoted.size() - 2);
}

RequestWriter::RequestWriter(const OpenAiOptions& options, const OpenAiEndpoint& endpoint)
    : api_(options.api), start_(body_start(options)) {
  head_ = fmt::format("POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: assay/{}\r\nContent-Type: application/json\r\n",
                      completions_path(options, endpoint.url), endpoint.url.host_header(), version());
  if (options.stream) head_ += "Accept: text/event-stream\r\n";
  if (!options.token.empty()) head_ += fmt::format("Authorization: Bearer {}\r\n", options.token);
  for (const auto& [name, value] : options.headers) head_ += fmt::format("{}: {}\r\n", name, value);
  head_ += "Content-Length: ";
}

const std::string& RequestWriter::body_of(const PromptRequest& request) {
  body_ = start_;
  if (request.output_tokens > 0) {
    body_ += ",\"max_tokens\":";
    body_ += fmt::format_int(request.output_tokens).c_str();
  }
  if (api_ == OpenAiOptions::Api::completions) {
    body_ += ",\"prompt\":\"";
    if (request.messages.empty()) append_escaped(request.prompt, body_);
    for (const ChatMessage& message : request.messages) {
      append_escaped(message.role, body_);
      body_ += ": ";
      append_escaped(message.content, body_);
      body_ += "\\n";
    }
    body_ += "\"}";
    return body_;
  }
  const auto add = [&](std::string_view role, std::string_view content) {
    body_ += "{\"role\":\"";
    append_escaped(role, body_);
    body_ += "\",\"content\":\"";
    append_escaped(content, body_);
    body_ += "\"}";
  };
  body_ += ",\"messages\":[";
  if (request.messages.empty()) add("user", request.prompt);
  for (std::size_t i = 0; i < request.messages.size(); ++i) {
    if (i > 0) body_ += ',';
    add(request.messages[i].role, request.messages[i].content);
  }
  body_ += "]}";
  return body_;
}

void RequestWriter::write(const PromptRequest& request, std::string& out) {
  body_of(request);
  out = head_;
  out += fmt::format_int(body_.size()).c_str();
  out += "\r\n\r\n";
  out += body_;
}

}  // namespace assay
