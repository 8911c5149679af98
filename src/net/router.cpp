#include "net/router.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/assert.h"
#include "base/text.h"
#include "net/http_message.h"
#include "net/request_target.h"
#include "net/url_text.h"

namespace assay {

std::vector<Router::Segment> Router::parse_pattern(std::string_view pattern) {
  ASSAY_ASSERT(pattern.starts_with('/'));
  std::vector<Segment> segments;
  for (std::string_view part : split(pattern.substr(1), '/')) {
    Segment segment;
    if (part.starts_with('{')) {
      ASSAY_ASSERT(part.ends_with('}') && part.size() > 2);
      part = part.substr(1, part.size() - 2);
      segment.kind = Segment::Kind::capture;
      if (part.ends_with("...")) {
        segment.kind = Segment::Kind::rest;
        part.remove_suffix(3);
      }
    }
    segment.text = part;
    ASSAY_ASSERT(segments.empty() || segments.back().kind != Segment::Kind::rest);
    segments.push_back(std::move(segment));
  }
  return segments;
}

void Router::add(std::string method, std::string_view pattern, Handler handler, RouteOptions options) {
  ASSAY_ASSERT(handler != nullptr);
  auto segments = parse_pattern(pattern);
  for (const auto& route : routes_) ASSAY_ASSERT(route.method != method || route.segments != segments);
  routes_.push_back({std::move(method), std::move(segments), std::move(handler), std::move(options)});
}

void Router::get(std::string_view pattern, Handler handler, RouteOptions options) {
  add("GET", pattern, std::move(handler), std::move(options));
}

void Router::post(std::string_view pattern, Handler handler, RouteOptions options) {
  add("POST", pattern, std::move(handler), std::move(options));
}

void Router::change_below(std::string_view path, const std::function<void(RouteOptions&)>& change) {
  const auto start = parse_pattern(path);
  bool found = false;
  for (auto& route : routes_) {
    if (route.segments.size() < start.size() || !std::equal(start.begin(), start.end(), route.segments.begin())) {
      continue;
    }
    change(route.options);
    found = true;
  }
  ASSAY_ASSERT(found);
}

void Router::on_refusal_below(std::string path, MakeRefusal make) {
  refusals_.emplace_back(std::move(path), std::move(make));
}

HttpResponse Router::refusal(int status, std::string_view message, std::string_view path) const {
  const std::pair<std::string, MakeRefusal>* closest = nullptr;
  for (const auto& below : refusals_) {
    if (is_below(path, below.first) && (!closest || below.first.size() >= closest->first.size())) closest = &below;
  }
  if (closest) return closest->second(status, message);
  return HttpResponse::text(status, fmt::format("{} {}: {}\n", status, reason_phrase(status), message));
}

bool Router::matches(const Route& route, const std::vector<std::string>& segments) {
  const bool open_ended = route.segments.back().kind == Segment::Kind::rest;
  if (open_ended ? segments.size() < route.segments.size() : segments.size() != route.segments.size()) return false;
  for (std::size_t i = 0; i < route.segments.size(); ++i) {
    const Segment& wanted = route.segments[i];
    if (wanted.kind == Segment::Kind::literal && wanted.text != segments[i]) return false;
    if (wanted.kind == Segment::Kind::capture && segments[i].empty()) return false;
  }
  return true;
}

bool Router::more_literal(const Route& a, const Route& b) {
  return std::ranges::lexicographical_compare(a.segments, b.segments, {}, &Segment::kind, &Segment::kind);
}

NamedValues Router::captured_by(const Route& route, const std::vector<std::string>& segments) {
  NamedValues captured;
  for (std::size_t i = 0; i < route.segments.size(); ++i) {
    const Segment& segment = route.segments[i];
    if (segment.kind == Segment::Kind::capture) captured.emplace_back(segment.text, segments[i]);
    if (segment.kind != Segment::Kind::rest) continue;
    const std::vector<std::string> rest(segments.begin() + static_cast<std::ptrdiff_t>(i), segments.end());
    captured.emplace_back(segment.text, join(rest, "/"));
  }
  return captured;
}

std::string Router::allowed_methods(const std::vector<std::string>& segments) const {
  std::set<std::string> methods;
  for (const auto& route : routes_) {
    if (!matches(route, segments)) continue;
    methods.insert(route.method);
    if (route.method == "GET") methods.insert("HEAD");
  }
  if (methods.empty()) return "";
  methods.insert("OPTIONS");
  return join(methods, ", ");
}

Router::Match Router::match(std::string_view method, const RequestTarget& target) const {
  const Route* best = nullptr;
  for (const auto& route : routes_) {
    // A HEAD route of its own goes before the GET route that would answer for it.
    const bool own = route.method == method;
    if (!own && !(method == "HEAD" && route.method == "GET")) continue;
    if (!matches(route, target.segments)) continue;
    if (!best || more_literal(route, *best) || (own && !more_literal(*best, route))) best = &route;
  }
  Match match;
  if (best) {
    match.handler = &best->handler;
    match.options = best->options;
    match.captured = captured_by(*best, target.segments);
    return match;
  }
  if (method == "OPTIONS" && target.path == "*") {
    match.status = 204;
    return match;
  }
  match.allow = allowed_methods(target.segments);
  match.status = match.allow.empty() ? 404 : method == "OPTIONS" ? 204 : 405;
  return match;
}

}  // namespace assay
