#include "report/chart/markup_fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

namespace assay {
namespace {

constexpr std::array<std::string_view, 4> kVoidElements = {"meta", "link", "br", "wbr"};
constexpr std::array<std::string_view, 6> kReferences = {"amp;", "lt;", "gt;", "quot;", "apos;", "#39;"};

class MarkupCheck {
 public:
  MarkupCheck(std::string_view text, Markup kind) : rest_(text), kind_(kind) {}

  std::optional<std::string> run() {
    for (const char character : rest_) {
      const auto byte = static_cast<unsigned char>(character);
      if (byte < 0x20 && character != '\n') return fmt::format("control character {}", byte);
    }
    if (kind_ == Markup::xml) skip("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    if (kind_ == Markup::html && !skip("<!doctype html>\n")) return "no doctype";
    while (!rest_.empty() && problem_.empty()) step();
    if (problem_.empty() && !open_.empty()) problem_ = open_.back() + " is not closed";
    if (problem_.empty() && roots_ != 1) problem_ = fmt::format("{} roots", roots_);
    return problem_.empty() ? std::nullopt : std::optional(problem_);
  }

 private:
  bool skip(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  void step() {
    if (skip("</")) return close();
    if (skip("<")) return open();
    if (rest_.front() == '&') return reference();
    if (rest_.front() == '>') problem_ = "bare >";
    if (open_.empty() && rest_.front() != '\n') problem_ = "text outside of the root";
    rest_.remove_prefix(1);
  }

  void reference() {
    rest_.remove_prefix(1);
    for (const auto& known : kReferences) {
      if (skip(known)) return;
    }
    problem_ = fmt::format("unknown reference &{}", rest_.substr(0, 8));
  }

  std::string name() {
    const auto end = std::min(
        rest_.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-:"), rest_.size());
    std::string found(rest_.substr(0, end));
    rest_.remove_prefix(end);
    if (found.empty()) problem_ = fmt::format("no name at '{}'", rest_.substr(0, 12));
    return found;
  }

  void close() {
    const std::string element = name();
    if (open_.empty() || open_.back() != element) {
      problem_ = fmt::format("</{}> closes {}", element, open_.empty() ? "nothing" : open_.back());
      return;
    }
    open_.pop_back();
    if (!skip(">")) problem_ = "closing tag goes on";
  }

  void open() {
    const std::string element = name();
    std::set<std::string> attributes;
    while (problem_.empty() && skip(" ")) attribute(attributes);
    if (!problem_.empty()) return;
    if (open_.empty()) ++roots_;
    if (skip("/>")) return;
    if (!skip(">")) {
      problem_ = fmt::format("<{}> does not end", element);
      return;
    }
    const bool is_void = std::find(kVoidElements.begin(), kVoidElements.end(), element) != kVoidElements.end();
    if (kind_ == Markup::html && is_void) return;
    open_.push_back(element);
    // Style sheets are raw text in HTML; ours hold nothing that XML would stumble over either.
    if (element == "style") rest_.remove_prefix(std::min(rest_.find("</"), rest_.size()));
  }

  void attribute(std::set<std::string>& attributes) {
    const std::string key = name();
    if (!attributes.insert(key).second) problem_ = key + " twice";
    if (!skip("=\"")) problem_ = key + " is not quoted";
    while (problem_.empty() && !skip("\"")) {
      if (rest_.empty() || rest_.front() == '<') {
        problem_ = key + " does not end";
      } else if (rest_.front() == '&') {
        reference();
      } else {
        rest_.remove_prefix(1);
      }
    }
  }

  std::string_view rest_;
  Markup kind_;
  std::vector<std::string> open_;
  int roots_ = 0;
  std::string problem_;
};

}  // namespace

std::optional<std::string> problem_in_markup(std::string_view text, Markup kind) {
  return MarkupCheck(text, kind).run();
}

}  // namespace assay
