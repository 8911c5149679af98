#include "cluster_run.h"

#include <fmt/format.h>
#include <poll.h>

#include <map>

#include "api/queue_types.h"
#include "api/run_types.h"
#include "base/text.h"
#include "client/ask.h"
#include "client/leader_runs.h"
#include "leader_place.h"
#include "live_view.h"
#include "net/url_text.h"
#include "queue_view.h"
#include "run_services.h"
#include "run_view.h"
#include "runs/run_facts.h"
#include "stop_signals.h"
#include "store/journal/journal.h"
#include "store/read_journals.h"
#include "store/resolve.h"

namespace assay {
namespace {

constexpr int kLookMs = 250;
/// A run that begins at once needs no word about waiting.
constexpr int kLooksBeforeNote = 6;
/// For a leader that is started anew: the run goes on meanwhile.
constexpr Nanos kLeaderPatience = std::chrono::minutes(5);
constexpr std::size_t kMaxSpec = std::size_t{1} << 20;

/// Shows what a run records as if it were this machine's own.
class RemoteView final : public JournalVisitor {
 public:
  explicit RemoteView(LiveView& view) : view_(view) {}

  void on_points(const SeriesKey& key, std::string_view, std::span<const SeriesPoint> points) override {
    if (!key.labels.empty() || points.empty() || key.name.find('.') != std::string::npos) return;
    facts_.last[key.name] = points.back().value;
    if (points.back().step != kNoStep) facts_.last_step = points.back().step;
  }
  void on_output(OutputStream stream, WallTime, std::string_view bytes) override { view_.on_output(stream, bytes); }

  void show_progress(const Run& run, WallTime now) { view_.on_progress(facts_, now - run.started); }

 private:
  LiveView& view_;
  RunFacts facts_;
};

class ClusterRuns {
 public:
  ClusterRuns(const Context& context, const ClusterRun& wanted, std::shared_ptr<Connection> leader)
      : context_(context), wanted_(wanted), leader_(std::move(leader)), store_(open_leader_runs(leader_)) {}

  int run(const std::string& file) {
    const auto accepted = order(file);
    if (!accepted) return context_.fail(accepted.error());
    const auto& [run, study] = *accepted;
    if (wanted_.no_wait) {
      if (!context_.json && !context_.quiet) print((study.empty() ? run : "study:" + study) + "\n");
      return context_.succeed(write_api(*accepted));
    }
    return study.empty() ? follow_run(run) : follow_study(study);
  }
  /// Goes on with a study, or only follows it where the leader is at it already.
  int resume(const std::string& reference) {
    const auto id = resolve_study(*store_, reference);
    if (!id) return context_.fail(id.error());
    const auto before = store_->find_study(*id);
    if (!before) return context_.fail(before.error());
    const auto again = interrupted_before(*before);
    if (!again) return context_.fail(again.error());
    StudyResumption body{.node = wanted_.node, .gpus = {}};
    if (!wanted_.gpus.empty()) body.gpus = wanted_.gpus;
    const auto answer =
        tell<ResumedStudy>(*leader_, "POST", fmt::format("/api/v1/studies/{}/resume", percent_encode(*id)), body);
    if (!answer) return context_.fail(answer.error());
    if (wanted_.no_wait) {
      if (!context_.json && !context_.quiet) print("study:" + *id + "\n");
      return context_.succeed(write_api(*answer));
    }
    return follow_study(*id, *again);
  }
  bool stopped() const { return signals_.requested(); }

 private:
  /// What is done anew, with the run that was interrupted.
  Result<std::map<std::size_t, std::string>> interrupted_before(const Study& study) {
    std::map<std::size_t, std::string> found;
    for (std::size_t i = 0; i < study.plan.size(); ++i) {
      if (study.plan[i].run.empty()) continue;
      const auto run = store_->find_run(study.plan[i].run);
      if (!run && run.error().kind != ErrorKind::not_found) return run.error();
      if (run && run->verdict == Verdict::interrupted) found[i] = run->id;
    }
    return found;
  }

  Result<OrderedRun> order(const std::string& file) const {
    ASSAY_TRY(auto text, read_file(file == "-" ? "/dev/stdin" : file, kMaxSpec));
    RunOrder wanted{.spec = std::move(text),
                    .file = file,
                    .name = wanted_.name,
                    .tags = wanted_.tags,
                    .set = wanted_.assignments,
                    .node = wanted_.node,
                    .gpus = {}};
    if (!wanted_.gpus.empty()) wanted.gpus = wanted_.gpus;
    return tell<OrderedRun>(*leader_, "POST", "/api/v1/runs", wanted);
  }

  /// The run once it has ended; nothing if nobody waits any more.
  Result<std::optional<Run>> wait_for(const std::string& id, const std::string& title) {
    LiveView view({.show_output = wanted_.verbose,
                   .output_to_error = context_.json,
                   .show_progress = !context_.quiet,
                   .show_read = false},
                  context_.error_style());
    view.set_title(title);
    RemoteView remote(view);
    JournalPosition position;
    int looks = 0;
    for (;;) {
      // The state first: what was recorded before the end is then shown in any case.
      ASSAY_TRY(auto run, patiently([&] { return store_->find_run(id); }));
      ASSAY_TRY(position, patiently([&] { return read_journal(*store_, id, remote, position); }));
      if (run.state == RunState::ended) return std::optional(std::move(run));
      if (run.state == RunState::running) remote.show_progress(run, context_.clock.wall());
      if (run.state == RunState::queued && ++looks == kLooksBeforeNote) say_that_it_waits(run);
      if (look()) return std::optional<Run>();
    }
  }

  /// Who waits wants to know for what.
  void say_that_it_waits(const Run& run) const {
    if (context_.json || context_.quiet) return;
    const auto queued = ask<QueuedRun>(*leader_, "/api/v1/queue/" + percent_encode(run.id));
    if (queued) print_error(fmt::format("{} {}\n", run.id, sentence_of(*queued, context_.clock.wall())));
  }

  int follow_run(const std::string& id) {
    const auto run = wait_for(id, wanted_.node);
    if (!run) return context_.fail(run.error());
    if (!*run) return context_.fail(no_longer_waiting("run " + id, id));
    return report_run(context_, **run, *store_);
  }

  /// In the order of the plan: whoever does it goes by that as well. `again`: what is done anew, with the run that was
  /// interrupted before.
  int follow_study(const std::string& id, const std::map<std::size_t, std::string>& again = {}) {
    StudyOutcome outcome;
    auto study = store_->find_study(id);
    if (!study) return context_.fail(study.error());
    for (std::size_t i = 0; i < study->plan.size(); ++i) {
      const auto earlier = again.find(i);
      const auto begun = wait_for_entry(*study, i, earlier == again.end() ? "" : earlier->second);
      if (!begun) return context_.fail(begun.error());
      // Somebody has stopped the study.
      if (!*begun) outcome.interrupted = true;
      if (study->plan[i].run.empty()) continue;
      const auto run =
          wait_for(study->plan[i].run, fmt::format("{}/{} {}", i + 1, study->plan.size(), study->plan[i].variant));
      if (!run) return context_.fail(run.error());
      if (!*run) return context_.fail(no_longer_waiting("study " + id, "study:" + id));
      count(outcome, **run);
    }
    return report_study(context_, *study, outcome);
  }

  /// Until an entry of the plan has a run, another one than `earlier`; reads the study again for that. False if it gets
  /// none, since nobody goes on with the study.
  Result<bool> wait_for_entry(Study& study, std::size_t entry, const std::string& earlier) {
    const auto is_begun = [&] {
      const auto& run = study.plan[entry].run;
      return !run.empty() && run != earlier;
    };
    while (!is_begun()) {
      // Asked before the study is read: whatever was begun until then is in it.
      const auto path = fmt::format("/api/v1/studies/{}/jobs", percent_encode(study.id));
      ASSAY_TRY(const auto jobs, patiently([&] { return ask<StudyJobs>(*leader_, path); }));
      ASSAY_TRY(study, patiently([&] { return store_->find_study(study.id); }));
      if (is_begun()) break;
      if (jobs.runs.empty()) return false;
      if (look()) return no_longer_waiting("study " + study.id, "study:" + study.id);
    }
    return true;
  }

  static void count(StudyOutcome& outcome, const Run& run) {
    if (run.verdict == Verdict::interrupted) {
      outcome.interrupted = true;
    } else if (run.verdict == Verdict::valid) {
      ++outcome.valid;
    } else {
      ++outcome.not_valid;
    }
    outcome.runs.push_back(run);
  }

  /// Asks until the leader answers, for a while, or until the user no longer wants to wait.
  template <typename Ask>
  auto patiently(Ask ask) -> decltype(ask()) {
    const SteadyTime deadline = context_.clock.now() + kLeaderPatience;
    for (bool said = false;; said = true) {
      auto answer = ask();
      const bool away =
          !answer && (answer.error().kind == ErrorKind::unreachable || answer.error().kind == ErrorKind::timeout);
      if (!away || context_.clock.now() > deadline) return answer;
      if (!said && !context_.json && !context_.quiet) print_error("the leader does not answer; it is waited for\n");
      if (look()) return answer;
    }
  }

  /// Whether the user no longer wants to wait.
  bool look() const {
    pollfd waiting{.fd = signals_.fd(), .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, kLookMs) > 0 || signals_.requested();
  }

  static Error no_longer_waiting(const std::string& what, const std::string& reference) {
    return {.kind = ErrorKind::interrupted,
            .message = fmt::format("no longer waiting for {}", what),
            .hint = fmt::format("It goes on: `assay logs -f {0}` follows it, `assay cancel {0}` ends it.", reference)};
  }

  const Context& context_;
  const ClusterRun& wanted_;
  std::shared_ptr<Connection> leader_;
  std::unique_ptr<RunStore> store_;
  StopSignals signals_;
};

}  // namespace

int run_on_cluster(const Context& context, const ClusterRun& wanted) {
  // Mistakes are better said here, before anybody is asked.
  if (auto specs = read_specs(context, wanted.files, wanted.assignments); !specs) return context.fail(specs.error());
  auto leader = connect_to_leader(context);
  if (!leader) return context.fail(leader.error());
  ClusterRuns runs(context, wanted, std::move(*leader));
  if (!wanted.resume.empty()) return runs.resume(wanted.resume);
  int worst = 0;
  for (const auto& file : wanted.files) {
    const int code = runs.run(file);
    if (worst == 0) worst = code;
    if (runs.stopped()) break;
  }
  return worst;
}

}  // namespace assay
