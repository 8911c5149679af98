#include "importers/slurm/slurm_parser.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "base/ascii.h"
#include "base/text.h"
#include "importers/slurm/log_problems.h"

namespace assay {
namespace {

constexpr std::size_t kMostEpochs = 1'000'000;
constexpr std::size_t kMostJobs = 10'000;
constexpr std::size_t kMostLoggedRanks = 100'000;
constexpr std::size_t kMostProblems = 50;
constexpr int kProblemsPerSegment = 4;
constexpr std::size_t kLongestLoggedText = 300;

constexpr std::array<bool, 256> kDelimiters = [] {
  std::array<bool, 256> table{};
  table[':'] = table['='] = true;
  return table;
}();

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

/// `slurm-48211_3.out` → "48211_3"; another name is used as it is.
std::string id_from_file_name(std::string_view file_name) {
  std::string base = std::filesystem::path(file_name).filename().string();
  const std::size_t at = base.find("slurm-");
  if (at != std::string::npos) {
    const std::string_view rest = std::string_view(base).substr(at + 6);
    const std::string_view id = rest.substr(0, std::min(rest.find_first_not_of("0123456789_"), rest.size()));
    if (!id.empty()) return std::string(id);
  }
  return base;
}

void report(std::optional<RankedFigure>& figure, const Stated& value) {
  if (!figure) {
    figure = RankedFigure{value, value.value, value.value, 1};
    return;
  }
  figure->lowest = std::min(figure->lowest, value.value);
  figure->highest = std::max(figure->highest, value.value);
  ++figure->reports;
}

}  // namespace

SlurmParser::SlurmParser(std::string_view file_name) : file_name_(file_name) {
  states_.push_back(std::make_unique<JobState>());
}

void SlurmParser::take(const LogSegment& segment) {
  segment_ = segment;
  progress_ = {};
  // The state of a progress bar is whole with its bracket; only its line was never ended.
  cut_ |= segment.cut && !(segment.text.ends_with(']') && segment.text.find("%|") != std::string_view::npos);
  JobState& state = *states_[current_];
  const char first = segment.text.front();
  const bool may_be_table = first == '|' || is_digit(first) || (first >= 'a' && first <= 'z');
  auto& readings = state.job.gpu_readings;
  const std::size_t readings_before = readings.size();
  if (may_be_table && !segment.cut && state.gpu_table.take(segment.text, readings)) {
    const bool training = state.epochs > 0 && !state.job.training_seconds;
    if (readings.size() > readings_before) readings.back().during_training = training;
    return;
  }
  if (first == '`' || first == 'A' || first == 'R') take_announcement();
  // `Epoch 3/50` alone on its line is what the next lines are about.
  if ((first == 'E' || first == 'e') && segment.text.substr(1, 4) == "poch") progress();
  scan_delimiters();
}

/// What Lightning says without a name and a colon.
void SlurmParser::take_announcement() {
  const std::string_view text = segment_.text;
  constexpr std::string_view kStopped = "`Trainer.fit` stopped: `max_";
  constexpr std::string_view kRegistered = "All distributed processes registered. Starting with ";
  std::size_t used = 0;
  if (text.starts_with(kStopped) && text.find("reached", kStopped.size()) != std::string_view::npos) {
    job().fit_ended = true;
    constexpr std::string_view kEpochs = "epochs=";
    const std::string_view rest = text.substr(kStopped.size());
    if (rest.starts_with(kEpochs) && !job().epochs_planned)
      job().epochs_planned = count_at(rest.substr(kEpochs.size()), used);
  } else if (text.starts_with(kRegistered)) {
    const auto count = count_at(text.substr(kRegistered.size()), used);
    if (count && !segment_.cut && !job().tasks) job().tasks = count;
  } else if (text.starts_with("Restor") && text.find("checkpoint") != std::string_view::npos) {
    job().resumed = true;
  }
}

SlurmParser::RankState* SlurmParser::rank_state() {
  auto& ranks = states_[current_]->ranks;
  const int rank = segment_.rank.value_or(kNoRank);
  if (ranks.size() >= kMostLoggedRanks && !ranks.contains(rank)) return nullptr;
  return &ranks[rank];
}

void SlurmParser::scan_delimiters() {
  const std::string_view text = segment_.text;
  int problems_left = kProblemsPerSegment;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!kDelimiters[static_cast<unsigned char>(c)] || i == 0) continue;
    // `::`, `==` and rulers of `=` delimit nothing.
    if (i + 1 < text.size() && text[i + 1] == c) {
      while (i + 1 < text.size() && text[i + 1] == c) ++i;
      continue;
    }
    const char before = text[i - 1];
    if (!is_letter(before) && before != ')' && before != ' ' && before != '"' && before != '\'') continue;
    const LogKeyMatch match = log_key_before(text.substr(0, i), c);
    if (match.key != LogKey::none) {
      take_fact(match, text.substr(i + 1), c);
    } else if (c == ':' && problems_left > 0 && announces_problem(text.substr(0, i))) {
      --problems_left;
      take_problem(text.substr(0, i));
    }
  }
}

void SlurmParser::take_fact(const LogKeyMatch& match, std::string_view rest, char delimiter) {
  rest = without_blanks(rest);
  switch (match.key) {
    case LogKey::none:
    case LogKey::other_metric: return;
    case LogKey::job_id:
    case LogKey::job_name:
    case LogKey::node_list:
    case LogKey::best_checkpoint:
    case LogKey::setting: return take_text(match, rest, delimiter);
    case LogKey::nodes:
    case LogKey::tasks:
    case LogKey::tasks_per_node:
    case LogKey::cpus_per_task:
    case LogKey::gpus:
    case LogKey::member:
    case LogKey::batch_per_gpu:
    case LogKey::effective_batch:
    case LogKey::accumulation:
    case LogKey::epochs:
    case LogKey::samples: return take_count(match.key, rest);
    case LogKey::training_time:
    case LogKey::job_duration:
    case LogKey::time_per_epoch:
    case LogKey::epoch_seconds: return take_time(match.key, rest);
    default: return take_metric(match.key, rest);
  }
}

void SlurmParser::take_text(const LogKeyMatch& match, std::string_view rest, char delimiter) {
  // Progress lines repeat their settings; the first mention counts.
  if (match.key == LogKey::setting && job().settings.contains(match.name)) return;
  // Several facts may share a line: `Driver Version: 550.54      CUDA Version: 12.4 |`, `lr=0.001, loss=…`.
  std::size_t end = delimiter == '=' ? rest.find_first_of(", ]})|\"'`") : rest.find_first_of(";|}");
  if (delimiter == ':') {
    end = std::min(end, rest.find("  "));
    if (match.key == LogKey::setting) end = std::min(end, rest.find(", "));
  }
  end = std::min(end, rest.size());
  if (end == rest.size() && segment_.cut) return;
  const std::string_view value = trim(rest.substr(0, std::min(end, kLongestLoggedText)));
  if (value.empty()) return;
  const auto keep_first = [&](std::string& field) {
    if (field.empty()) field = printable(value);
  };
  switch (match.key) {
    case LogKey::job_id: return take_job_id(value.substr(0, value.find_first_not_of("0123456789_")));
    case LogKey::job_name: return keep_first(job().name);
    case LogKey::node_list: return keep_first(job().node_list);
    case LogKey::best_checkpoint: return keep_first(job().best_checkpoint);
    default: keep_first(job().settings[std::string(match.name)]);
  }
}

void SlurmParser::take_job_id(std::string_view id) {
  if (id.empty()) return;
  // What the segment was about belonged to the job before, whose epochs may go.
  progress_ = {};
  if (job().id.empty()) {
    job().id = id;
  } else if (job().id == id) {
    start_again();
  } else {
    const auto known = std::find_if(states_.begin(), states_.end(), [&](const auto& one) { return one->job.id == id; });
    current_ = static_cast<std::size_t>(known - states_.begin());
    if (known != states_.end()) return;
    if (states_.size() == kMostJobs) {
      current_ = states_.size() - 1;
      return;
    }
    states_.push_back(std::make_unique<JobState>());
    job().id = id;
  }
}

/// A job that was interrupted and now prints its header once more was started again: its earlier figures are those of
/// an attempt that did not end. Without an interruption it is another rank's header.
void SlurmParser::start_again() {
  JobState& state = *states_[current_];
  const bool interrupted = std::any_of(state.job.problems.begin(), state.job.problems.end(), [](const auto& problem) {
    return problem.kind == ErrorKind::interrupted || problem.kind == ErrorKind::lost_peer;
  });
  if (!interrupted || state.epochs == 0) return;
  SlurmJob fresh;
  fresh.id = state.job.id;
  fresh.attempts = state.job.attempts + 1;
  fresh.problems = std::move(state.job.problems);
  fresh.problems_left_out = state.job.problems_left_out;
  state.job = std::move(fresh);
  state.ranks.clear();
  state.epochs = 0;
}

void SlurmParser::take_count(LogKey key, std::string_view rest) {
  std::size_t used = 0;
  if (key == LogKey::member) {
    // `1/4`: what counts is how many there are.
    if (!count_at(rest, used) || !rest.substr(used).starts_with('/')) return;
    rest.remove_prefix(used + 1);
  }
  const auto count = count_at(rest, used);
  if (!count || !ends_well(rest.substr(used))) return;
  // A float (`epochs: 0.5`) is no count.
  if (rest.substr(used).starts_with('.') && rest.size() > used + 1 && is_digit(rest[used + 1])) return;
  const auto keep_first = [&](std::optional<std::int64_t>& field) {
    if (!field) field = count;
  };
  switch (key) {
    case LogKey::nodes: return keep_first(job().nodes);
    case LogKey::member:
    case LogKey::tasks: return keep_first(job().tasks);
    case LogKey::tasks_per_node: return keep_first(job().tasks_per_node);
    case LogKey::cpus_per_task: return keep_first(job().cpus_per_task);
    case LogKey::gpus: return keep_first(job().gpus);
    case LogKey::batch_per_gpu: return keep_first(job().batch_per_gpu);
    case LogKey::effective_batch: return keep_first(job().effective_batch);
    case LogKey::accumulation: return keep_first(job().accumulation);
    case LogKey::epochs: return keep_first(job().epochs_planned);
    default: return keep_first(job().samples);
  }
}

void SlurmParser::take_time(LogKey key, std::string_view rest) {
  std::size_t used = 0;
  const auto seconds = log_duration_at(rest, used);
  if (!seconds || !ends_well(rest.substr(used))) return;
  if (key == LogKey::epoch_seconds) {
    if (SlurmEpoch* epoch = progress().place.epoch) epoch->seconds = seconds->value;
    return;
  }
  if (key == LogKey::job_duration) {
    if (!job().duration_seconds) job().duration_seconds = seconds;
    return;
  }
  report(key == LogKey::training_time ? job().training_seconds : job().seconds_per_epoch, *seconds);
  if (key != LogKey::training_time || job().training_repeated) return;
  std::string_view behind = without_blanks(rest.substr(used));
  if (!behind.starts_with('(')) return;
  behind.remove_prefix(1);
  const auto repeated = log_duration_at(behind, used);
  if (repeated && behind.substr(used).starts_with(')')) job().training_repeated = repeated;
}

std::optional<SlurmParser::Value> SlurmParser::value_of(std::string_view text) {
  if (text.starts_with('\'') || text.starts_with('"') || text.starts_with('$')) text.remove_prefix(1);
  std::size_t used = 0;
  const auto number = number_at(text, used);
  if (!number || !ends_well(text.substr(used))) return std::nullopt;
  return Value{*number, text.substr(used)};
}

bool SlurmParser::ends_well(std::string_view rest) {
  if (segment_.cut && rest.find_first_not_of(" ,.0123456789") == std::string_view::npos) return false;
  if (rest.empty()) return true;
  const char next = rest.front();
  if (is_digit(next) || next == '_') return false;
  if (!is_letter(next) && static_cast<unsigned char>(next) < 0x80) return true;
  // `7.2s` and `3.8x` are units; any other letter is the beginning of another rank's line.
  const bool unit = next == 's' || next == 'x';
  return unit && (rest.size() == 1 ? !segment_.cut : !is_letter(rest[1]));
}

void SlurmParser::take_metric(LogKey key, std::string_view rest) {
  const auto value = value_of(rest);
  if (!value) return;
  if ((key == LogKey::loss || key == LogKey::val_loss) && !std::isfinite(value->number.value)) {
    if (job().non_finite_losses++ == 0) job().first_non_finite_line = segment_.line;
    return;
  }
  if (!std::isfinite(value->number.value)) return;
  switch (key) {
    case LogKey::loss:
      if (SlurmEpoch* epoch = progress().place.epoch) epoch->loss = value->number;
      return;
    case LogKey::best_val_loss: return report(job().best_val_loss, value->number);
    case LogKey::val_loss:
    case LogKey::val_accuracy:
    case LogKey::best_val_accuracy: return take_validation(key, *value);
    default: return take_rate(key, *value);
  }
}

void SlurmParser::take_validation(LogKey key, const Value& value) {
  Stated figure = value.number;
  if (key != LogKey::val_loss) {
    const bool percent = value.rest.starts_with('%');
    if (percent || figure.value > 1) {
      figure = {figure.value / 100, figure.half_unit / 100};
      job().percent_assumed |= !percent;
    }
    if (figure.value < 0 || figure.value > 1) return;
    if (key == LogKey::best_val_accuracy) return report(job().best_val_accuracy, figure);
  }
  const bool loss = key == LogKey::val_loss;
  RankState* rank = rank_state();
  if (!rank) return;
  auto& best = loss ? rank->lowest_val_loss : rank->highest_val_accuracy;
  if (!best || (loss ? figure.value < best->value : figure.value > best->value)) best = figure;

  SlurmEpoch* epoch = progress().place.epoch;
  if (!epoch) return;
  auto& field = loss ? epoch->val_loss : epoch->val_accuracy;
  if (progress_.running) {
    // Until an epoch's own validation a progress bar shows the figures of the epoch before.
    const SlurmEpoch* before = progress_.place.before;
    if (before && (loss ? before->val_loss : before->val_accuracy) == figure) return;
  } else if (!progress_.bar) {
    epoch->complete = true;
  }
  field = figure;
}

void SlurmParser::take_rate(LogKey key, const Value& value) {
  if (key == LogKey::throughput) {
    const std::string_view unit = without_blanks(value.rest);
    if (unit.starts_with("sample") || unit.starts_with("image") || unit.starts_with("img")) {
      key = LogKey::samples_per_second;
    } else if (unit.starts_with("tok")) {
      key = LogKey::tokens_per_second;
    } else {
      return;
    }
  }
  // Rates in a progress bar are those of a moment, not of the job.
  if (progress().bar) return;
  report(key == LogKey::samples_per_second ? job().samples_per_second : job().tokens_per_second, value.number);
}

void SlurmParser::take_problem(std::string_view before_colon) {
  const auto problem = problem_in(segment_, before_colon);
  if (!problem) return;
  if (job().problems.size() < kMostProblems) {
    job().problems.push_back(*problem);
  } else {
    ++job().problems_left_out;
  }
}

const SlurmParser::Progress& SlurmParser::progress() {
  if (progress_.known) return progress_;
  progress_.known = true;
  const std::string_view text = segment_.text;
  const std::size_t at = text.find("poch");
  // `Time per epoch: 7.25` names no epoch.
  const bool named = at != std::string_view::npos && at > 0 && (text[at - 1] | 0x20) == 'e' &&
                     !text.substr(0, at - 1).ends_with("per ");
  if (named) {
    std::string_view rest = text.substr(at + 4);
    const std::size_t start = rest.substr(0, 6).find_first_not_of(" :=[#'\"");
    rest.remove_prefix(std::min(start, rest.size()));
    std::size_t used = 0;
    const auto number = count_at(rest, used);
    if (number && !(segment_.cut && used == rest.size())) {
      enter_epoch(*number);
      rest.remove_prefix(used);
      // `Epoch 49: 100%|███` is Lightning's bar.
      if (rest.starts_with(':') && rest.substr(0, 8).find("%|") != std::string_view::npos)
        job().counts_from_zero = true;
      std::size_t total_used = 0;
      const auto total = rest.starts_with('/') ? count_at(rest.substr(1), total_used) : std::nullopt;
      if (total && ends_well(rest.substr(1 + total_used)) && !job().epochs_planned) job().epochs_planned = total;
    }
  }
  if (!progress_.place.epoch) {
    const auto& ranks = states_[current_]->ranks;
    const auto current = ranks.find(segment_.rank.value_or(kNoRank));
    if (current != ranks.end()) progress_.place = current->second.place;
  }
  look_at_bar();
  return progress_;
}

/// `100%|██████████| 313/313 [00:07<00:00, 43.1it/s, …]`
void SlurmParser::look_at_bar() {
  const std::string_view text = segment_.text;
  const std::size_t percent = text.find("%|");
  if (percent == std::string_view::npos) return;
  progress_.bar = true;
  progress_.running = !text.substr(0, percent).ends_with("100");
  if (progress_.running || !progress_.place.epoch) return;
  progress_.place.epoch->complete = true;
  const std::size_t bar_end = text.find("| ", percent + 2);
  if (bar_end == std::string_view::npos) return;
  std::string_view rest = text.substr(bar_end + 2);
  std::size_t used = 0;
  const auto steps = count_at(rest, used);
  if (!steps || !rest.substr(used).starts_with('/')) return;
  if (!job().steps_per_epoch) job().steps_per_epoch = steps;
  const std::size_t bracket = rest.find('[');
  if (bracket == std::string_view::npos) return;
  rest.remove_prefix(bracket + 1);
  const auto elapsed = log_duration_at(rest, used);
  if (elapsed && rest.substr(used).starts_with('<')) progress_.place.epoch->seconds = elapsed->value;
}

void SlurmParser::enter_epoch(std::int64_t number) {
  JobState& state = *states_[current_];
  RankState* rank = rank_state();
  if (!rank) return;
  if (rank->place.epoch && rank->place.epoch->number == number) {
    progress_.place = rank->place;
    return;
  }
  const auto known = rank->epochs.find(number);
  if (known == rank->epochs.end() && state.epochs >= kMostEpochs) return;
  if (rank->place.epoch && rank->place.epoch->number < number) rank->place.epoch->complete = true;
  if (known == rank->epochs.end()) ++state.epochs;
  SlurmEpoch& epoch = rank->epochs[number];
  epoch.number = number;
  const auto before = rank->epochs.find(number - 1);
  rank->place = Place{&epoch, before == rank->epochs.end() ? nullptr : &before->second};
  progress_.place = rank->place;
}

/// The course of the job is that of its first rank that shows one.
void SlurmParser::put_course(JobState& state) {
  SlurmJob& job = state.job;
  for (auto& [number, rank] : state.ranks) {
    if (!job.epochs.empty()) break;
    if (!job.lowest_val_loss_seen || !rank.epochs.empty()) job.lowest_val_loss_seen = rank.lowest_val_loss;
    if (!job.highest_val_accuracy_seen || !rank.epochs.empty())
      job.highest_val_accuracy_seen = rank.highest_val_accuracy;
    if (rank.epochs.empty()) continue;
    if (job.training_seconds || job.fit_ended) rank.epochs.rbegin()->second.complete = true;
    for (const auto& [at, epoch] : rank.epochs) job.epochs.push_back(epoch);
  }
}

std::vector<SlurmJob> SlurmParser::finish(std::int64_t lines) {
  std::vector<SlurmJob> jobs;
  for (auto& state : states_) {
    SlurmJob& one = state->job;
    if (one.id.empty()) one.id = id_from_file_name(file_name_);
    one.sources = {file_name_};
    one.lines = lines;
    one.cut = cut_;
    put_course(*state);
    jobs.push_back(std::move(one));
  }
  return jobs;
}

}  // namespace assay
