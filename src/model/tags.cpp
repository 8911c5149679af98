#include "model/tags.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace assay {
namespace {

constexpr std::size_t kLongestTag = 200;

}  // namespace

Result<void> check_tag(std::string_view tag) {
  const bool bad = tag.empty() || tag.size() > kLongestTag || tag.front() == '=' || tag.front() == '-' ||
                   tag.find_first_of(" \t\r\n,\"'") != std::string_view::npos || printable(tag) != tag;
  if (!bad) return {};
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("'{}' is not a tag", printable(tag.substr(0, kLongestTag))),
               .hint = fmt::format("A tag is key=value or a word without spaces, of {} bytes at most.", kLongestTag)};
}

Result<void> change_tags(std::vector<std::string>& tags, std::span<const std::string> add,
                         std::span<const std::string> remove) {
  auto next = tags;
  for (const auto& one : remove) std::erase(next, one);
  for (const auto& one : add) {
    ASSAY_CHECK(check_tag(one));
    if (std::find(next.begin(), next.end(), one) == next.end()) next.push_back(one);
  }
  if (next.size() > kMostTags && next.size() > tags.size()) {
    return Error{.kind = ErrorKind::usage, .message = fmt::format("a run has at most {} tags", kMostTags)};
  }
  tags = std::move(next);
  return {};
}

}  // namespace assay
