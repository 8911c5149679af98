#include "accounts/share_links.h"

#include <fmt/format.h>

#include <algorithm>

#include "access/secrets.h"
#include "base/text.h"

namespace assay {
namespace {

constexpr std::size_t kLinkDigits = 16;
constexpr std::string_view kOneRun = "/api/v1/runs/{run}";
constexpr std::string_view kOneStudy = "/api/v1/studies/{study}";
/// What a link is for, told to whoever opens it.
constexpr std::string_view kWhoAmI = "/api/v1/session";

Error bad_link(std::string message, std::string hint = "") {
  return {.kind = ErrorKind::usage, .message = std::move(message), .hint = std::move(hint)};
}

Result<void> check_target(const LinkRecord& link) {
  const std::size_t runs = link.runs.size();
  const bool study = !link.study.empty();
  if (link.kind == "run" && (runs != 1 || study)) return bad_link("a link to a run names one run");
  if (link.kind == "study" && (runs != 0 || !study)) return bad_link("a link to a study names one study");
  if (link.kind == "report" && (runs > 0) == study) return bad_link("a link to a report names runs, or a study");
  if (link.kind == "compare" && (runs < 2 || study)) return bad_link("a link to a comparison names two runs or more");
  if (link.kind != "run" && link.kind != "study" && link.kind != "report" && link.kind != "compare") {
    return bad_link(fmt::format("'{}' is nothing that a link can show", printable(link.kind)),
                    "run, study, report or compare.");
  }
  if (runs > ShareLinks::kMostRuns) return bad_link(fmt::format("a link names {} runs at most", ShareLinks::kMostRuns));
  return {};
}

bool is_at_or_below(std::string_view endpoint, std::string_view path) {
  return endpoint.starts_with(path) && (endpoint.size() == path.size() || endpoint[path.size()] == '/');
}

}  // namespace

Result<ShareLinks::Made> ShareLinks::create(LinkRecord wanted, std::optional<Nanos> lifetime) {
  ASSAY_CHECK(check_target(wanted));
  if (of(wanted.user).size() >= kMostOfUser) {
    return bad_link(fmt::format("{} links are as many as one may have", kMostOfUser), "Revoke some first.");
  }
  if (lifetime && (*lifetime <= Nanos(0) || *lifetime > std::chrono::hours(24 * 365 * 10))) {
    return bad_link("a link is good for more than nothing and at most ten years");
  }
  Made made{.link = std::move(wanted), .secret = new_secret()};
  made.link.hash = sha256_hex(made.secret);
  made.link.id = made.link.hash.substr(0, kLinkDigits);
  made.link.created = clock_.wall();
  made.link.expires = lifetime ? std::optional(made.link.created + *lifetime) : std::nullopt;
  ASSAY_CHECK(links_.put(made.link));
  return made;
}

std::vector<LinkRecord> ShareLinks::of(std::string_view user) const {
  return links_.those([&](const LinkRecord& link) { return link.user == user; });
}

Result<void> ShareLinks::revoke(std::string_view id) {
  ASSAY_CHECK(links_.take(id));
  return {};
}

Result<void> ShareLinks::revoke_all_of(std::string_view user) {
  return links_.remove_those([&](const LinkRecord& link) { return link.user == user; });
}

std::optional<LinkRecord> ShareLinks::check(std::string_view secret) const {
  if (!is_secret(secret)) return std::nullopt;
  const std::string hash = sha256_hex(secret);
  auto link = links_.find(hash.substr(0, kLinkDigits));
  if (!link || !equal_in_constant_time(link->hash, hash)) return std::nullopt;
  if (link->expires && *link->expires <= clock_.wall()) return std::nullopt;
  return link;
}

Result<void> ShareLinks::tidy() {
  const WallTime now = clock_.wall();
  return links_.remove_those([&](const LinkRecord& link) { return link.expires && *link.expires <= now; });
}

Result<void> check_link(const LinkRecord& link, const Asked& asked, const StudyOfRun& study_of) {
  if (asked.endpoint == kWhoAmI) return {};
  if (is_at_or_below(asked.endpoint, kOneStudy) && !asked.study.empty() && asked.study == link.study) return {};
  if (is_at_or_below(asked.endpoint, kOneRun) && !asked.run.empty()) {
    if (std::find(link.runs.begin(), link.runs.end(), asked.run) != link.runs.end()) return {};
    if (!link.study.empty() && study_of(asked.run) == link.study) return {};
  }
  return Error{.kind = ErrorKind::denied,
               .message = fmt::format("this link shows one {} and nothing else",
                                      link.kind == "compare" ? "comparison" : link.kind)};
}

}  // namespace assay
