#include "requests/request_file.h"

#include <fmt/format.h>

#include "base/json.h"
#include "requests/input_lines.h"

namespace assay {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{1} << 30;
constexpr std::int64_t kMostTokens = 10'000'000;
constexpr std::string_view kLineHint =
    R"(Each line is one object: {"prompt": "…", "max_tokens": 64} or {"messages": [{"role": "user", "content": "…"}]}.)";

class RequestFile final : public RequestSet {
 public:
  explicit RequestFile(std::vector<PromptRequest> requests) : requests_(std::move(requests)) {}
  std::uint64_t size() const override { return requests_.size(); }
  void make(std::uint64_t index, PromptRequest& into) const override {
    into = requests_[static_cast<std::size_t>(index % requests_.size())];
  }

 private:
  std::vector<PromptRequest> requests_;
};

/// What is wrong with the messages, or "".
std::string read_messages(const json::value& value, std::vector<ChatMessage>& into) {
  if (!value.is_array() || value.get_array().empty()) return "'messages' must be a list with at least one message";
  for (const json::value& item : value.get_array()) {
    const json::object* message = item.if_object();
    const json::value* role = message ? message->if_contains("role") : nullptr;
    const json::value* content = message ? message->if_contains("content") : nullptr;
    if (!role || !role->is_string() || !content || !content->is_string()) {
      return "every message must have the texts 'role' and 'content'";
    }
    into.push_back({std::string(role->get_string()), std::string(content->get_string())});
  }
  return {};
}

/// What is wrong with the line, or "".
std::string read_line(const json::object& line, PromptRequest& into) {
  const json::value* prompt = line.if_contains("prompt");
  const json::value* messages = line.if_contains("messages");
  if (!prompt == !messages) return prompt ? "has both 'prompt' and 'messages'" : "has neither 'prompt' nor 'messages'";
  if (messages) {
    if (auto problem = read_messages(*messages, into.messages); !problem.empty()) return problem;
  } else if (!prompt->is_string() || prompt->get_string().empty()) {
    return "'prompt' must be a text that is not empty";
  } else {
    into.prompt = prompt->get_string();
  }
  if (const json::value* most = line.if_contains("max_tokens")) {
    if (!most->is_int64() || most->get_int64() < 1 || most->get_int64() > kMostTokens) {
      return fmt::format("'max_tokens' must be a whole number from 1 to {}", kMostTokens);
    }
    into.output_tokens = static_cast<std::uint32_t>(most->get_int64());
  }
  if (const json::value* reference = line.if_contains("reference")) {
    if (!reference->is_string()) return "'reference' must be a text";
    into.reference = reference->get_string();
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<RequestSet>> parse_request_lines(std::string_view text, std::string name,
                                                        std::uint32_t default_output_tokens) {
  InputLines lines(text, std::move(name));
  std::vector<PromptRequest> requests;
  while (const auto line = lines.next()) {
    const auto value = parse_json(*line);
    if (!value) return lines.error("is not JSON: " + value.error().message, std::string(kLineHint));
    if (!value->is_object()) return lines.error("is not a JSON object", std::string(kLineHint));
    PromptRequest& request = requests.emplace_back();
    request.output_tokens = default_output_tokens;
    if (auto problem = read_line(value->get_object(), request); !problem.empty()) {
      return lines.error(problem, std::string(kLineHint));
    }
  }
  if (requests.empty()) {
    return lines.error_of_all("there is no request in the file", std::string(kLineHint));
  }
  return std::unique_ptr<RequestSet>(std::make_unique<RequestFile>(std::move(requests)));
}

Result<std::unique_ptr<RequestSet>> read_request_file(const fs::path& path, std::uint32_t default_output_tokens) {
  ASSAY_TRY(const auto text, read_file(path, kMostFileBytes).within("reading requests"));
  return parse_request_lines(text, path.string(), default_output_tokens);
}

}  // namespace assay
