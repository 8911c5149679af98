#include "accounts/share_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "access/secrets.h"
#include "base/text.h"

namespace assay {
namespace {

constexpr std::size_t kLinkDigits = 16;
constexpr std::string_view kOneRun = "/api/v1/runs/{run}";
constexpr std::string_view kOneStudy = "/api/v1/studies/{study}";
constexpr std::string_view kReport = "/api/v1/reports";
constexpr std::string_view kRuns = "/api/v1/runs";
/// What a link is for, told to whoever opens it; and units and meanings, which are the same on every cluster.
constexpr std::array<std::string_view, 2> kForEverybody = {"/api/v1/session", "/api/v1/metrics/known"};

Error bad_link(std::string message, std::string hint = "") {
  return {.kind = ErrorKind::usage, .message = std::move(message), .hint = std::move(hint)};
}

Result<void> check_target(const LinkRecord& link) {
  const std::size_t runs = link.runs.size();
  const bool study = !link.study.empty();
  if (link.kind == "run" && (runs != 1 || study)) return bad_link("a link to a run names one run");
  if (link.kind == "study" && (runs != 0 || !study)) return bad_link("a link to a study names one study");
  if (link.kind == "report" && (runs > 0) == study) return bad_link("a link to a report names runs, or a study");
  if (link.kind == "compare" && (study ? runs != 0 : runs < 2)) {
    return bad_link("a link to a comparison names two runs or more, or a study");
  }
  if (link.kind != "run" && link.kind != "study" && link.kind != "report" && link.kind != "compare") {
    return bad_link(fmt::format("'{}' is nothing that a link can show", printable(link.kind)),
                    "run, study, report or compare.");
  }
  if (runs > ShareLinks::kMostRuns) return bad_link(fmt::format("a link names {} runs at most", ShareLinks::kMostRuns));
  return {};
}

bool shows_run(const LinkRecord& link, std::string_view run, const StudyOfRun& study_of) {
  if (run.empty()) return false;
  if (std::find(link.runs.begin(), link.runs.end(), run) != link.runs.end()) return true;
  return !link.study.empty() && study_of(run) == link.study;
}

/// By whole ids alone: a name, a tag or `@last` may stand for something else tomorrow.
bool shows_report_on(const LinkRecord& link, std::string_view of, const StudyOfRun& study_of) {
  const auto references = split(of, ',');
  return std::all_of(references.begin(), references.end(), [&](std::string_view reference) {
    constexpr std::string_view kStudy = "study:";
    if (!reference.starts_with(kStudy)) return shows_run(link, reference, study_of);
    return !link.study.empty() && reference.substr(kStudy.size()) == link.study;
  });
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
  if (std::find(kForEverybody.begin(), kForEverybody.end(), asked.endpoint) != kForEverybody.end()) return {};
  if (is_at_or_below(asked.endpoint, kOneStudy) && !asked.study.empty() && asked.study == link.study) return {};
  if (is_at_or_below(asked.endpoint, kOneRun) && shows_run(link, asked.run, study_of)) return {};
  if (is_at_or_below(asked.endpoint, kReport) && shows_report_on(link, asked.of, study_of)) return {};
  // The runs of its study, asked for in these words and no others: a filter may say much.
  if (asked.endpoint == kRuns && !link.study.empty() && asked.filter == "study=" + link.study) return {};
  return Error{.kind = ErrorKind::denied,
               .message = fmt::format("this link shows one {} and nothing else",
                                      link.kind == "compare" ? "comparison" : link.kind)};
}

}  // namespace assay
