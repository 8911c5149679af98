#include "http/api_pages.h"

#include <fmt/format.h>

#include <functional>
#include <set>
#include <vector>

#include "api/api_info.h"
#include "base/text.h"

namespace assay {
namespace {

std::string text_at(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value ? std::string(value->as_string()) : std::string();
}

std::string referred_name(const json::value& reference) {
  return std::string(std::string_view(reference.as_string()).substr(kSchemaReference.size()));
}

std::string in_capitals(std::string_view method) {
  std::string text(method);
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

/// How a language spells the shapes of JSON Schema.
struct Spelling {
  const char *text, *boolean, *number, *whole, *nothing, *anything;
  std::function<std::string(const std::string&)> type, list, map;
  std::function<std::string(const std::vector<std::string>&)> tuple;
  const char* either;
};

std::string spelt(const json::object& schema, const Spelling& words);

std::string spelt_type(std::string_view type, const json::object& schema, const Spelling& words) {
  if (type == "string") return words.text;
  if (type == "boolean") return words.boolean;
  if (type == "integer") return words.whole;
  if (type == "number") return words.number;
  if (type == "null") return words.nothing;
  if (type == "array") {
    if (const auto* items = schema.if_contains("prefixItems")) {
      std::vector<std::string> each;
      for (const auto& item : items->as_array()) each.push_back(spelt(item.as_object(), words));
      return words.tuple(each);
    }
    return words.list(spelt(schema.at("items").as_object(), words));
  }
  const auto* values = schema.if_contains("additionalProperties");
  return values && values->is_object() ? words.map(spelt(values->as_object(), words)) : words.anything;
}

std::string spelt(const json::object& schema, const Spelling& words) {
  if (const auto* reference = schema.if_contains("$ref")) return words.type(referred_name(*reference));
  std::vector<std::string> choices;
  if (const auto* any = schema.if_contains("anyOf")) {
    for (const auto& one : any->as_array()) choices.push_back(spelt(one.as_object(), words));
  } else if (const auto& type = schema.at("type"); type.is_string()) {
    return spelt_type(type.as_string(), schema, words);
  } else {
    for (const auto& one : type.as_array()) choices.push_back(spelt_type(one.as_string(), schema, words));
  }
  return join(choices, words.either);
}

const Spelling& typescript_words() {
  static const Spelling words{
      .text = "string",
      .boolean = "boolean",
      .number = "number",
      .whole = "number",
      .nothing = "null",
      .anything = "Record<string, unknown>",
      .type = [](const std::string& name) { return name; },
      .list = [](const std::string& item) { return fmt::format("Array<{}>", item); },
      .map = [](const std::string& item) { return fmt::format("Record<string, {}>", item); },
      .tuple = [](const std::vector<std::string>& each) { return "[" + join(each, ", ") + "]"; },
      .either = " | "};
  return words;
}

const Spelling& page_words() {
  static const Spelling words{
      .text = "text",
      .boolean = "true or false",
      .number = "number",
      .whole = "whole number",
      .nothing = "null",
      .anything = "object",
      .type = [](const std::string& name) { return fmt::format("[{}](#{})", name, lower_case(name)); },
      .list = [](const std::string& item) { return "list of " + item; },
      .map = [](const std::string& item) { return "by name: " + item; },
      .tuple = [](const std::vector<std::string>& each) { return "list of " + join(each, ", "); },
      .either = " or "};
  return words;
}

/// One operation of the document, as both pages need it.
struct Operation {
  std::string method, path, summary, scope, media;
  const json::object* answer = nullptr;  ///< null: no JSON
  const json::object* body = nullptr;    ///< null: none, or no JSON
  bool body_is_bytes = false;
  bool body_is_needed = false;
  std::vector<const json::object*> parameters;

  std::string name() const { return method + " " + path; }
};

const json::object* schema_in(const json::object& content) {
  const auto* schema = content.if_contains("schema");
  return schema ? &schema->as_object() : nullptr;
}

Operation operation_in(std::string_view path, std::string_view method, const json::object& said) {
  Operation operation{.method = in_capitals(method), .path = std::string(path), .summary = text_at(said, "summary")};
  if (const auto& security = said.at("security").as_array(); !security.empty()) {
    operation.scope = security[0].at("token").as_array()[0].as_string();
  }
  const auto& content = said.at("responses").at("200").at("content").as_object();
  operation.media = content.begin()->key();
  operation.answer = schema_in(content.begin()->value().as_object());
  if (const auto* body = said.if_contains("requestBody")) {
    const auto& of_body = body->at("content").as_object();
    operation.body = schema_in(of_body.begin()->value().as_object());
    operation.body_is_bytes = operation.body == nullptr;
    const auto* needed = body->as_object().if_contains("required");
    operation.body_is_needed = needed && needed->as_bool();
  }
  for (const auto& parameter : said.at("parameters").as_array()) operation.parameters.push_back(&parameter.as_object());
  return operation;
}

std::vector<Operation> operations_in(const json::object& document) {
  std::vector<Operation> all;
  for (const auto& [path, methods] : document.at("paths").as_object()) {
    for (const auto& [method, said] : methods.as_object()) all.push_back(operation_in(path, method, said.as_object()));
  }
  return all;
}

bool is_in(const json::object& parameter, std::string_view place) { return parameter.at("in").as_string() == place; }

std::string typescript_type(std::string_view name, const json::object& schema) {
  std::string out = fmt::format("\n/** {} */\n", text_at(schema, "description"));
  if (const auto* words = schema.if_contains("enum")) {
    std::vector<std::string> choices;
    for (const auto& word : words->as_array()) choices.push_back(json::serialize(word));
    return out + fmt::format("export type {} = {};\n", name, join(choices, " | "));
  }
  std::set<std::string, std::less<>> always;
  if (const auto* required = schema.if_contains("required")) {
    for (const auto& field : required->as_array()) always.emplace(field.as_string());
  }
  const auto& fields = schema.at("properties").as_object();
  if (fields.empty()) return out + fmt::format("export type {} = Record<string, never>;\n", name);
  out += fmt::format("export interface {} {{\n", name);
  for (const auto& [field, value] : fields) {
    const auto& shape = value.as_object();
    out += fmt::format("  /** {} */\n  {}{}: {};\n", text_at(shape, "description"), std::string_view(field),
                       always.contains(std::string_view(field)) ? "" : "?", spelt(shape, typescript_words()));
  }
  return out + "}\n";
}

/// `{ node: string; limit?: number }`.
std::string typescript_parameters(const Operation& operation, std::string_view place) {
  std::vector<std::string> each;
  for (const auto* parameter : operation.parameters) {
    if (!is_in(*parameter, place)) continue;
    each.push_back(fmt::format("{}{}: {}", text_at(*parameter, "name"), parameter->at("required").as_bool() ? "" : "?",
                               spelt(parameter->at("schema").as_object(), typescript_words())));
  }
  return each.empty() ? "Record<string, never>" : "{ " + join(each, "; ") + " }";
}

std::string typescript_answer(const Operation& operation) {
  if (!operation.answer) return operation.media.starts_with("text/") ? "string" : "Blob";
  return spelt(*operation.answer, typescript_words());
}

std::string typescript_route(const Operation& operation) {
  std::string body = "undefined";
  if (operation.body_is_bytes) body = "Blob";
  if (operation.body)
    body = spelt(*operation.body, typescript_words()) + (operation.body_is_needed ? "" : " | undefined");
  return fmt::format(
      "  /** {} */\n  \"{}\": {{\n    path: {};\n    query: {};\n    body: {};\n    answer: {};\n  }};\n",
      operation.summary, operation.name(), typescript_parameters(operation, "path"),
      typescript_parameters(operation, "query"), body, typescript_answer(operation));
}

constexpr const char* kTypescriptHead =
    "// Made from the table of the API (src/api, src/http) by scripts/renew_docs.sh. Do not edit.\n"
    "//\n"
    "// Whole numbers of nanoseconds are larger than a number holds exactly: good to a microsecond, to show and to "
    "sort\n"
    "// by. What was null is not known, or no finite number.\n";

constexpr const char* kPageHead =
    "# The API of a leader\n\n"
    "This page is made from the table that answers the requests; `GET /api/v1/openapi.json` of a leader has the same "
    "as "
    "an\nOpenAPI document, and `web/src/api/types.ts` as types of TypeScript.\n\n"
    "A request carries `Authorization: Bearer TOKEN`; `assay token create` makes tokens, and their role decides over "
    "the\nscopes. Keys and parameters that are not known are refused. An error is an [ErrorAnswer](#erroranswer) with "
    "a status\nfrom 400 on. Keys that are not on this page may come with any version: pass over what you do not "
    "know.\n";

std::string page_parameters(const Operation& operation) {
  std::string out;
  for (const auto* parameter : operation.parameters) {
    out += fmt::format("- `{}` ({}{}, {}): {}\n", text_at(*parameter, "name"), text_at(*parameter, "in"),
                       parameter->at("required").as_bool() ? ", needed" : "",
                       spelt(parameter->at("schema").as_object(), page_words()), text_at(*parameter, "description"));
  }
  return out;
}

std::string page_route(const Operation& operation) {
  std::string out = fmt::format("\n### `{}`\n\n{}.", operation.name(), operation.summary);
  if (!operation.scope.empty()) out += fmt::format(" Scope `{}`.", operation.scope);
  out += "\n\n" + page_parameters(operation);
  if (operation.body_is_bytes) out += "- body: bytes\n";
  if (operation.body) out += fmt::format("- body: {}\n", spelt(*operation.body, page_words()));
  const std::string media = operation.media == "application/json" ? "" : fmt::format(" (`{}`)", operation.media);
  out += fmt::format("- answer{}: {}\n", media, operation.answer ? spelt(*operation.answer, page_words()) : "as it is");
  return out;
}

std::string page_type(std::string_view name, const json::object& schema) {
  std::string out = fmt::format("\n### {}\n\n{}\n", name, text_at(schema, "description"));
  if (const auto* words = schema.if_contains("enum")) {
    std::vector<std::string> choices;
    for (const auto& word : words->as_array()) choices.push_back(fmt::format("`{}`", word.as_string().c_str()));
    return out + fmt::format("\nOne of {}.\n", join(choices, ", "));
  }
  const auto& fields = schema.at("properties").as_object();
  if (fields.empty()) return out;
  const auto* required = schema.if_contains("required");
  out += "\n| field | type | meaning |\n|---|---|---|\n";
  for (const auto& [field, value] : fields) {
    bool always = false;
    if (required) {
      for (const auto& one : required->as_array()) always = always || one.as_string() == field;
    }
    out += fmt::format("| `{}`{} | {} | {} |\n", std::string_view(field), always ? "" : " ?",
                       spelt(value.as_object(), page_words()), text_at(value.as_object(), "description"));
  }
  return out;
}

}  // namespace

std::string typescript_of(const json::object& document) {
  std::string out = kTypescriptHead;
  for (const auto& [name, schema] : document.at("components").at("schemas").as_object()) {
    out += typescript_type(name, schema.as_object());
  }
  const auto operations = operations_in(document);
  out += "\n/** What each route takes and answers with. */\nexport interface Routes {\n";
  for (const auto& operation : operations) out += typescript_route(operation);
  out += "}\n\nexport type RouteName = keyof Routes;\n";
  out += "\n/** The same for programs while they run: how a route is asked for, and the scope that it needs. */\n";
  out +=
      "export const routes: { readonly [name in RouteName]: { method: string; path: string; scope: string; media: "
      "string } } = {\n";
  for (const auto& operation : operations) {
    out += fmt::format("  \"{}\": {{ method: \"{}\", path: \"{}\", scope: \"{}\", media: \"{}\" }},\n",
                       operation.name(), operation.method, operation.path, operation.scope, operation.media);
  }
  return out + "};\n";
}

std::string api_reference(const json::object& document) {
  std::string out = kPageHead;
  out += "\n## Routes\n";
  for (const auto& operation : operations_in(document)) out += page_route(operation);
  out += "\n## Types\n\nA field with a `?` may be missing.\n";
  for (const auto& [name, schema] : document.at("components").at("schemas").as_object()) {
    out += page_type(name, schema.as_object());
  }
  return out;
}

}  // namespace assay
