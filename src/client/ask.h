#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/api_type.h"
#include "api/error_types.h"
#include "client/connection.h"

namespace assay {

// Requests whose bodies and answers have types: nobody spells the names of fields twice. Errors are those of
// `Connection::send`; an answer that is not of its type is `bad_file`.

template <typename Answer>
Result<Answer> answer_in(std::string_view body) {
  ASSAY_TRY(const auto value, parse_json(body));
  return read_api<Answer>(value);
}

template <typename Answer>
Result<Answer> ask(Connection& leader, const std::string& target) {
  ASSAY_TRY(const auto value, leader.get(target));
  return read_api<Answer>(value);
}

/// For what takes no body: `DELETE`, and `POST` of what needs no words.
template <typename Answer = Done>
Result<Answer> tell(Connection& leader, const std::string& method, const std::string& target) {
  ASSAY_TRY(const auto value, leader.send_json(method, target, {}));
  return read_api<Answer>(value);
}

template <typename Answer, typename Body>
Result<Answer> tell(Connection& leader, const std::string& method, const std::string& target, const Body& body) {
  ASSAY_TRY(const auto value, leader.send_json(method, target, write_api(body)));
  return read_api<Answer>(value);
}

}  // namespace assay
