#include "launch/slurm/slurm_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/text.h"
#include "launch/slurm/slurm_place.h"

namespace assay {
namespace {

std::optional<std::int64_t> job_id_in(std::string_view text) {
  std::int64_t id = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (text.empty() || code != std::errc() || end != text.data() + text.size() || id <= 0) return std::nullopt;
  return id;
}

/// `CANCELLED by 1000` is CANCELLED.
std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

struct ReasonText {
  std::string_view reason;
  std::string_view words;
};
constexpr std::array kReasons = {
    ReasonText{"Resources", "no free nodes that fit"},
    ReasonText{"Priority", "others are before it"},
    ReasonText{"JobHeldUser", "`scontrol release` lets it go"},
    ReasonText{"JobHeldAdmin", "an administrator holds it"},
    ReasonText{"PartitionDown", "the partition takes jobs, but starts none"},
    ReasonText{"PartitionInactive", "the partition starts no jobs"},
    ReasonText{"ReqNodeNotAvail", "a node that it asks for is down, drained or reserved"},
    ReasonText{"Reservation", "its reservation has not begun"},
    ReasonText{"Licenses", "no free licence"},
    ReasonText{"BeginTime", "Slurm starts it again only after a while"},
};

constexpr std::array<std::string_view, 9> kInVain = {
    "AccountNotAllowed",         "BadConstraints",     "InvalidAccount", "InvalidQOS",
    "PartitionNodeLimit",        "PartitionTimeLimit", "QOSNotAllowed",  "launch failed requeued held",
    "job requeued in held state"};

struct EndText {
  std::string_view state;
  ErrorKind kind;
  std::string_view words;
  std::string_view hint;
};
constexpr std::array kEnds = {
    EndText{"TIMEOUT", ErrorKind::timeout, "reached the time limit that Slurm gave it",
            "Write more time: '--on slurm:time=2h', or ask for a partition that allows it."},
    EndText{"DEADLINE", ErrorKind::timeout, "reached its deadline", ""},
    EndText{"PREEMPTED", ErrorKind::interrupted, "had to make room for another job",
            "Run it again, or in a partition or QOS that is not preempted."},
    EndText{"CANCELLED", ErrorKind::interrupted, "was cancelled",
            "Somebody used `scancel`; `scontrol show job` or `sacct` may say who."},
    EndText{"REVOKED", ErrorKind::interrupted, "was revoked: a sibling runs on another cluster", ""},
    EndText{"NODE_FAIL", ErrorKind::lost_peer, "lost a node",
            "`sinfo -R` lists nodes that are down, with the reason. Run it again without them: "
            "'--on slurm:exclude=NODE'."},
    EndText{"BOOT_FAIL", ErrorKind::lost_peer, "got a node that did not boot", "`sinfo -R` lists nodes that are down."},
    EndText{"OUT_OF_MEMORY", ErrorKind::oom, "needed more memory than Slurm gave it",
            "Ask for more: '--on slurm:memory=64G'."},
};

}  // namespace

std::string said_by_slurm(std::string_view text) {
  text = trim(text);
  if (text == "(null)" || text == "None" || text == "N/A") return {};
  return printable(text);
}

std::string key_in_comment(std::string_view comment) {
  static const std::string kMark = slurm_comment("");
  comment = trim(comment);
  return comment.starts_with(kMark) ? std::string(comment.substr(kMark.size())) : std::string();
}

SlurmRecords parse_squeue(std::string_view printed) {
  SlurmRecords records;
  for (const auto line : split(printed, '\n')) {
    const auto fields = split(line, '|');
    if (fields.size() < 5) continue;
    const auto id = job_id_in(trim(fields[0]));
    auto state = printable(trim(fields[1]));
    if (!id || state.empty()) continue;
    records[*id] = {.state = std::move(state),
                    .reason = said_by_slurm(fields[2]),
                    .nodes = said_by_slurm(fields[3]),
                    .key = key_in_comment(fields[4])};
  }
  return records;
}

std::optional<SlurmRecord> parse_sacct(std::string_view printed, std::int64_t id) {
  for (const auto line : split(printed, '\n')) {
    const auto fields = split(line, '|');
    if (fields.size() < 3 || job_id_in(trim(fields[0])) != id) continue;
    auto state = printable(first_word(trim(fields[1])));
    if (state.empty()) continue;
    return SlurmRecord{.state = std::move(state), .reason = {}, .nodes = said_by_slurm(fields[2]), .key = {}};
  }
  return std::nullopt;
}

Result<std::int64_t> parse_sbatch(std::string_view printed) {
  const auto last = trim(printed);
  // Sites print greetings; the id is the last line.
  const auto line = last.substr(last.rfind('\n') == std::string_view::npos ? 0 : last.rfind('\n') + 1);
  if (const auto id = job_id_in(trim(line.substr(0, line.find(';'))))) return *id;
  return Error{.kind = ErrorKind::bad_file,
               .message = fmt::format("sbatch printed no job id but '{}'", printable(last.substr(0, 200)))};
}

SlurmStage stage_of(std::string_view state) {
  static constexpr std::array<std::string_view, 7> kWaiting = {
      "PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"};
  static constexpr std::array<std::string_view, 6> kRunning = {"RUNNING",  "SUSPENDED", "STOPPED",
                                                               "RESIZING", "SIGNALING", "STAGE_OUT"};
  if (contains(kWaiting, state)) return SlurmStage::waiting;
  if (contains(kRunning, state)) return SlurmStage::running;
  return state == "COMPLETING" ? SlurmStage::ending : SlurmStage::ended;
}

bool waits_in_vain(std::string_view reason) { return contains(kInVain, reason); }

std::string waiting_text(std::int64_t id, const SlurmRecord& record) {
  if (record.state == "CONFIGURING") return fmt::format("Slurm job {} waits for its nodes to boot", id);
  if (record.reason.empty()) return fmt::format("Slurm job {} waits", id);
  const auto first = std::string_view(record.reason).substr(0, record.reason.find(','));
  const auto* const known =
      std::find_if(kReasons.begin(), kReasons.end(), [&](const ReasonText& text) { return text.reason == first; });
  return known == kReasons.end() ? fmt::format("Slurm job {} waits: {}", id, record.reason)
                                 : fmt::format("Slurm job {} waits: {} ({})", id, record.reason, known->words);
}

std::optional<Error> ended_by_slurm(std::int64_t id, const SlurmRecord& record) {
  if (stage_of(record.state) == SlurmStage::waiting && waits_in_vain(record.reason)) {
    return Error{.kind = ErrorKind::unsupported,
                 .message = fmt::format("Slurm will never start the job {}: {}", id, record.reason),
                 .hint = "Ask for what the partition has: `scontrol show partition` and `sinfo -N -l` list it."};
  }
  const auto* const end =
      std::find_if(kEnds.begin(), kEnds.end(), [&](const EndText& text) { return text.state == record.state; });
  if (end == kEnds.end()) return std::nullopt;
  return Error{.kind = end->kind,
               .message = fmt::format("the Slurm job {} {} ({}{})", id, end->words, record.state,
                                      record.nodes.empty() ? "" : " on " + record.nodes),
               .hint = std::string(end->hint)};
}

Error refused_by_slurm(std::string_view text) {
  // The last line says what it was; those before it repeat it in part.
  std::string message;
  for (const auto line : split(text, '\n')) {
    auto words = trim(line);
    if (words.starts_with("sbatch: error: ")) words.remove_prefix(15);
    if (words.starts_with("Batch job submission failed: ")) words.remove_prefix(29);
    if (!words.empty()) message = printable(words);
  }
  if (message.empty()) message = "sbatch failed without a word";
  const auto mentions = [&](std::string_view word) { return lower_case(message).find(word) != std::string::npos; };
  const auto refused = [&](ErrorKind kind, std::string hint) {
    return Error{.kind = kind, .message = "Slurm does not take the job: " + message, .hint = std::move(hint)};
  };
  if (mentions("unable to contact") || mentions("connection refused") || mentions("socket timed out")) {
    return {.kind = ErrorKind::unreachable,
            .message = "slurmctld does not answer: " + message,
            .hint = "`scontrol ping` shows whether it is up."};
  }
  if (mentions("partition name") || mentions("invalid partition"))
    return refused(ErrorKind::usage, "`sinfo -s` lists the partitions.");
  if (mentions("node name")) return refused(ErrorKind::usage, "`sinfo -N` lists the nodes.");
  if (mentions("account")) return refused(ErrorKind::denied, "`sacctmgr show associations user=$USER` lists yours.");
  if (mentions("qos")) return refused(ErrorKind::denied, "`sacctmgr show associations user=$USER` lists yours.");
  if (mentions("denied") || mentions("not authorized")) return refused(ErrorKind::denied, {});
  if (mentions("node configuration") || mentions("feature") || mentions("more processors")) {
    return refused(ErrorKind::unsupported, "`sinfo -o '%N %c %m %G %f'` lists what the nodes have.");
  }
  return refused(ErrorKind::usage, {});
}

}  // namespace assay
