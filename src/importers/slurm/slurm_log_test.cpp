#include "importers/slurm/slurm_log.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "importers/slurm/slurm_log_fixture.h"
#include "support/source_tree.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(SlurmLog, GoldenFiguresOfTheScalingGuide) {
  const std::string one = fixture("slurm/slurm-48211.out");
  const std::string four = fixture("slurm/slurm-48212.out");
  const std::string eight = fixture("slurm/slurm-48213.out");
  const auto import = import_texts({{"slurm-48211.out", one}, {"slurm-48212.out", four}, {"slurm-48213.out", eight}});
  EXPECT_EQ(listed(import.flags), "");
  ASSERT_EQ(import.jobs.size(), 3u);

  std::vector<std::string> rows;
  const double baseline = training_time_of(import.jobs[0])->value;
  for (const auto& job : import.jobs) {
    const double seconds = training_time_of(job)->value;
    const double speedup = baseline / seconds;
    rows.push_back(fmt::format("{} {} GPUs {} nodes {:.2f} s {:.2f} s/epoch {:.4f} {:.4f} {:.1f}/s {:.2f}x {:.1f}%",
                               job.id, *job.gpus, *job.nodes, seconds, *seconds_per_epoch_of(job), *val_loss_of(job),
                               *val_accuracy_of(job), *samples_per_second_of(job), speedup,
                               100 * speedup / static_cast<double>(*job.gpus)));
  }
  EXPECT_THAT(rows, ElementsAre("48211 1 GPUs 1 nodes 362.45 s 7.25 s/epoch 0.1187 0.9530 1379.5/s 1.00x 100.0%",
                                "48212 4 GPUs 1 nodes 95.23 s 1.90 s/epoch 0.1192 0.9525 5250.4/s 3.81x 95.2%",
                                "48213 8 GPUs 2 nodes 57.14 s 1.14 s/epoch 0.1190 0.9527 8750.4/s 6.34x 79.3%"));
}

TEST(SlurmLog, ReadsTheFactsOfAJob) {
  const SlurmJob job = job_in(fixture("slurm/slurm-48212.out"), "slurm-48212.out");
  EXPECT_EQ(job.name, "spiral-4gpu");
  EXPECT_EQ(job.node_list, "gpu01");
  EXPECT_EQ(job.tasks, 4);
  EXPECT_EQ(job.tasks_per_node, 4);
  EXPECT_EQ(job.cpus_per_task, 4);
  EXPECT_EQ(job.batch_per_gpu, 32);
  EXPECT_EQ(effective_batch_of(job), 128);
  EXPECT_EQ(job.epochs_planned, 50);
  EXPECT_EQ(job.samples, 10000);
  EXPECT_EQ(job.steps_per_epoch, 79);
  EXPECT_EQ(job.settings.at("learning_rate"), "0.001");
  EXPECT_EQ(job.settings.at("driver_version"), "550.54.15");
  EXPECT_EQ(job.settings.at("cuda_version"), "12.4");
  EXPECT_EQ(job.best_checkpoint, "checkpoints/epoch=45-val_loss=0.1192.ckpt");
  EXPECT_EQ(job.duration_seconds->value, 104);
  EXPECT_EQ(job.training_seconds->reports, 4);
  EXPECT_NEAR(job.training_repeated->value, 95.23, 0.31);
  EXPECT_EQ(job.epochs.size(), 50u);
  EXPECT_TRUE(job.epochs.back().complete);
  EXPECT_EQ(job.epochs[45].val_accuracy->value, 0.9525);
}

TEST(SlurmLog, ReadsGpuTablesOfBothForms) {
  const SlurmJob job = job_in(fixture("slurm/slurm-48212.out"));
  ASSERT_EQ(job.gpu_readings.size(), 12u);
  const LoggedGpu& box = job.gpu_readings[1];
  EXPECT_EQ(box.index, 1);
  EXPECT_EQ(box.name, "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(box.utilisation, 0);
  EXPECT_EQ(box.temperature_c, 32);
  EXPECT_EQ(box.power_w, 53);
  EXPECT_EQ(box.memory_used_bytes, 4 << 20);
  EXPECT_EQ(box.memory_total_bytes, std::int64_t{40960} << 20);
  EXPECT_FALSE(box.during_training);
  const LoggedGpu& row = job.gpu_readings[5];
  EXPECT_EQ(row.name, "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(row.utilisation, 0.62);
  EXPECT_EQ(row.memory_used_bytes, std::int64_t{613} << 20);
  EXPECT_EQ(row.temperature_c, 42);
  EXPECT_EQ(row.power_w, 89.31);
  EXPECT_TRUE(row.during_training);
  EXPECT_DOUBLE_EQ(*gpu_utilisation_of(job), 0.625);
}

TEST(SlurmLog, FlagsFiguresThatTheLogContradicts) {
  const auto import = import_texts({{"slurm-48230.out", fixture("slurm/slurm-48230.out")}});
  EXPECT_EQ(
      listed(import.flags),
      "contradiction | 48230 | states 2 nodes, but 'gpu[01-03]' are 3\n"
      "contradiction | 48230 | states 4 tasks, but 2 nodes with 4 tasks each\n"
      "contradiction | 48230 | states an effective batch of 256, but 32 per GPU on 4 GPUs are 128\n"
      "contradiction | 48230 | states a training time of 95.23 s, but gives it as 119.4 s in brackets\n"
      "contradiction | 48230 | states a training time of 95.23 s, but the whole job took 80 s\n"
      "contradiction | 48230 | states 1.5 s per epoch, but 95.23 s over 50 epochs are 1.9046 s each\n"
      "contradiction | 48230 | states 6200 samples/s, but 10000 samples × 50 epochs in 95.23 s are 5250.4 samples/s\n"
      "contradiction | 48230 | states a best validation loss of 0.099, but the best that its progress shows is "
      "0.119\n");
}

TEST(SlurmLog, OutOfMemoryIsAResultWithItsReason) {
  const auto import = import_texts({{"slurm-48220.out", fixture("slurm/slurm-48220.out")}});
  ASSERT_EQ(import.jobs.size(), 1u);
  EXPECT_THAT(kinds_of(import.flags), UnorderedElementsAre("incomplete", "oom", "interrupted", "crash"));
  EXPECT_TRUE(has_flag(import.flags, "oom", "line 17 of rank 1: torch.OutOfMemoryError: CUDA out of memory"))
      << listed(import.flags);
  EXPECT_TRUE(has_flag(import.flags, "incomplete", "in epoch 0"));
}

TEST(SlurmLog, TheTimeLimitEndsALogWithinAnEpoch) {
  const auto import = import_texts({{"slurm-48221.out", fixture("slurm/slurm-48221.out")}});
  ASSERT_EQ(import.jobs.size(), 1u);
  const SlurmJob& job = import.jobs.front();
  EXPECT_TRUE(has_flag(import.flags, "timeout", "DUE TO TIME LIMIT")) << listed(import.flags);
  EXPECT_TRUE(has_flag(import.flags, "incomplete", "in epoch 31 of 50 planned"));
  EXPECT_EQ(epochs_of(job), 31);
  EXPECT_EQ(training_time_of(job), std::nullopt);
  EXPECT_FALSE(job.epochs.back().complete);
  // The bar of epoch 31 still shows the validation of epoch 30.
  EXPECT_TRUE(job.epochs[30].val_loss);
}

TEST(SlurmLog, CutAtEveryByteNothingIsInvented) {
  const std::string text = fixture("slurm/slurm-48211.out");
  const SlurmJob whole = job_in(text);
  // Everything but the long middle, which is the same 200 times.
  for (std::size_t length = 0; length < text.size(); ++length) {
    if (length > 4200 && length + 3500 < text.size() && length % 61 != 0) continue;
    const std::string_view part = std::string_view(text).substr(0, length);
    const auto import = import_texts({{"slurm-48211.out", part}});
    ASSERT_EQ(import.jobs.size(), 1u);
    const SlurmJob& job = import.jobs.front();
    const auto absent_or = [&](const auto& got, const auto& expected) { return !got || got == expected; };
    ASSERT_TRUE(job.id == whole.id) << length;
    ASSERT_TRUE(job.name.empty() || job.name == whole.name) << length;
    ASSERT_TRUE(absent_or(job.nodes, whole.nodes)) << length;
    ASSERT_TRUE(absent_or(job.samples, whole.samples)) << length;
    ASSERT_TRUE(absent_or(job.epochs_planned, whole.epochs_planned)) << length;
    ASSERT_TRUE(absent_or(job.batch_per_gpu, whole.batch_per_gpu)) << length;
    ASSERT_TRUE(absent_or(job.steps_per_epoch, whole.steps_per_epoch)) << length;
    ASSERT_TRUE(absent_or(job.duration_seconds, whole.duration_seconds)) << length;
    ASSERT_TRUE(absent_or(training_time_of(job), training_time_of(whole))) << length;
    ASSERT_TRUE(!job.best_val_loss || job.best_val_loss->first == whole.best_val_loss->first) << length;
    ASSERT_TRUE(job.best_checkpoint.empty() || job.best_checkpoint == whole.best_checkpoint) << length;
    for (const auto& epoch : job.epochs) {
      ASSERT_TRUE(epoch.number >= 0 && epoch.number < 50) << length;
      const auto& same = whole.epochs[static_cast<std::size_t>(epoch.number)];
      ASSERT_TRUE(!epoch.complete || absent_or(epoch.val_loss, same.val_loss)) << length;
    }
    // Marked as partial, unless the cut is at the end of a line of the last lines.
    const bool marked = !import.flags.empty();
    ASSERT_TRUE(marked || (part.ends_with('\n') && finished(job))) << length;
    ASSERT_FALSE(has_flag(import.flags, "contradiction")) << length << listed(import.flags);
  }
}

TEST(SlurmLog, RanksInAnyOrderGiveTheSameJob) {
  // The same lines with labels, once by rank and once interleaved.
  std::vector<std::string> lines;
  for (int rank = 0; rank < 3; ++rank) {
    lines.push_back(fmt::format("{}: Total GPUs: 3\n", rank));
    for (int epoch = 1; epoch <= 4; ++epoch) {
      lines.push_back(
          fmt::format("{}: Epoch {}/4 - loss: {:.3f} - val_loss: {:.3f}\n", rank, epoch, 1.0 / epoch, 0.9 / epoch));
    }
    lines.push_back(fmt::format("{}: Total training time: 12.5{} seconds\n", rank, rank));
  }
  std::string by_rank;
  std::string interleaved;
  for (const auto& line : lines) by_rank += line;
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t rank = 3; rank-- > 0;) interleaved += lines[rank * 6 + i];
  }
  for (const auto& text : {by_rank, interleaved}) {
    const auto import = import_texts({{"slurm-9.out", text}});
    EXPECT_EQ(listed(import.flags), "");
    const SlurmJob& job = import.jobs.front();
    EXPECT_EQ(job.gpus, 3);
    EXPECT_EQ(epochs_of(job), 4);
    EXPECT_EQ(training_time_of(job)->value, 12.52);
    EXPECT_EQ(job.training_seconds->reports, 3);
    EXPECT_EQ(val_loss_of(job), 0.225);
  }
}

TEST(SlurmLog, LinesThatRanIntoEachOtherAreStillRead) {
  const SlurmJob job = job_in(
      "Total GPUs: 2Total GPUs: 2\n\n"
      "Epoch 0: 100%|██████████| 5/5 [00:01<00:00, val_loss=0.3, val_acc=0.8]Epoch 0: 100%|██████████| 5/5 "
      "[00:01<00:00]\n"
      "Total training time: 20.00 seTotal training time: 20.01 secondsconds\n"
      "Best validation loss: 0.Best validation loss: 0.3000\n");
  EXPECT_EQ(job.gpus, 2);
  EXPECT_EQ(val_accuracy_of(job), 0.8);
  EXPECT_EQ(job.training_seconds->reports, 2);
  EXPECT_EQ(training_time_of(job)->value, 20.01);
  EXPECT_EQ(job.best_val_loss->first.value, 0.3);
  EXPECT_EQ(job.best_val_loss->reports, 1);
}

TEST(SlurmLog, RanksThatDisagreeAreFlagged) {
  const auto flags = flags_of(
      "Total training time: 10.0 seconds\nTotal training time: 15.0 seconds\n"
      "Best validation loss: 0.30\nBest validation loss: 0.50\n");
  EXPECT_TRUE(has_flag(flags, "ranks_disagree", "from 10 to 15 s; the longest is used")) << listed(flags);
  EXPECT_TRUE(has_flag(flags, "ranks_disagree", "from 0.3 to 0.5"));
}

TEST(SlurmLog, ProgressBarsWithEscapesAndCarriageReturns) {
  const SlurmJob job = job_in(
      "\x1b[32mEpoch 0:\x1b[0m  50%|#####     | 5/10 [00:03<00:03, loss=0.9]\r"
      "\x1b]0;title\a\x1b[2KEpoch 0: 100%|##########| 10/10 [00:07<00:00, loss=\x1b[1m0.8\x1b[0m, val_loss=0.7]\r\n"
      "\rTotal training time: \x1b[33m7.5\x1b[0m s\r\n");
  ASSERT_EQ(job.epochs.size(), 1u);
  EXPECT_EQ(job.epochs[0].loss->value, 0.8);
  EXPECT_EQ(job.epochs[0].val_loss->value, 0.7);
  EXPECT_EQ(job.epochs[0].seconds, 7);
  EXPECT_EQ(training_time_of(job)->value, 7.5);
}

TEST(SlurmLog, OtherToolsWaysOfWriting) {
  const SlurmJob keras = job_in(
      "Epoch 1/2\n10/10 [====] - 7s - loss: 0.50 - val_loss: 0.40 - val_accuracy: 0.81\n"
      "Epoch 2/2\n10/10 [====] - 7s - loss: 0.30 - val_loss: 0.35 - val_accuracy: 0.85\n");
  EXPECT_EQ(keras.epochs_planned, 2);
  ASSERT_EQ(keras.epochs.size(), 2u);
  EXPECT_EQ(keras.epochs[1].loss->value, 0.30);
  EXPECT_EQ(keras.highest_val_accuracy_seen->value, 0.85);

  const SlurmJob dictionary =
      job_in("{'loss': 2.5, 'learning_rate': 5e-05, 'epoch': 0.5}\n{'eval_loss': 2.1, 'epoch': 1.0}\n");
  EXPECT_EQ(dictionary.settings.at("learning_rate"), "5e-05");
  ASSERT_EQ(dictionary.epochs.size(), 2u);
  EXPECT_EQ(dictionary.epochs[0].loss->value, 2.5);
  EXPECT_EQ(dictionary.epochs[1].val_loss->value, 2.1);

  const SlurmJob plain =
      job_in("2025-11-11 10:00:00 INFO Epoch [3/10] Train Loss: 0.5 | Val Loss: 0.6 | Val Acc: 91.5%\n");
  ASSERT_EQ(plain.epochs.size(), 1u);
  EXPECT_EQ(plain.epochs[0].number, 3);
  EXPECT_EQ(plain.epochs[0].loss->value, 0.5);
  EXPECT_EQ(plain.epochs[0].val_loss->value, 0.6);
  EXPECT_DOUBLE_EQ(plain.epochs[0].val_accuracy->value, 0.915);
}

TEST(SlurmLog, OtherNumbersAreLeftAlone) {
  const SlurmJob job = job_in(
      "aux_loss=3 Style Loss: 4\nthe loss: of 5\nport: 80 x::loss=y gloss=1 seed==4 lossless: 2\n"
      "Mean squared error: 0.5\nmean_absolute_error: 0.25\nMeanError: 0.5\n"
      "3:14:15 something\nEpochs: many\nJob ID: $SLURM_JOB_ID\n");
  EXPECT_THAT(job.epochs, IsEmpty());
  EXPECT_THAT(job.problems, IsEmpty());
  EXPECT_EQ(job.lowest_val_loss_seen, std::nullopt);
  EXPECT_EQ(job.epochs_planned, std::nullopt);
  EXPECT_EQ(job.id, "7");
}

TEST(SlurmLog, TimesInEveryUnit) {
  EXPECT_EQ(training_time_of(job_in("Total training time: 362.45\n"))->value, 362.45);
  EXPECT_EQ(training_time_of(job_in("Total training time: 90s\n"))->value, 90);
  EXPECT_EQ(training_time_of(job_in("Total training time: 1.5 minutes\n"))->value, 90);
  EXPECT_EQ(training_time_of(job_in("Total training time: 2 h\n"))->value, 7200);
  EXPECT_EQ(training_time_of(job_in("Total training time: 0:06:02 (362.45 seconds)\n"))->value, 362);
  EXPECT_EQ(training_time_of(job_in("Total training time: soon\n")), std::nullopt);
  EXPECT_EQ(training_time_of(job_in("Total training time: -5 s\n")), std::nullopt);
}

TEST(SlurmLog, SeveralJobsInOneFileAndOneJobInSeveral) {
  const auto import = import_texts({{"slurm-1.out",
                                     "Job ID: 1\nTotal GPUs: 1\nTotal training time: 10 s\n"
                                     "Job ID: 2\nTotal GPUs: 2\nTotal training time: 6 s\n"},
                                    {"slurm-2.err",
                                     "Epoch 0: 100%|##########| 5/5 [00:02<00:00, val_loss=0.5]\n"
                                     "Epoch 1: 100%|##########| 5/5 [00:02<00:00, val_loss=0.4]"},
                                    {"slurm-3-0.out", "Total GPUs: 4\nTotal training time: 3 s\n"},
                                    {"slurm-3-1.out", "Total training time: 3.1 s\n"}});
  EXPECT_EQ(listed(import.flags), "");
  ASSERT_EQ(import.jobs.size(), 3u);
  EXPECT_EQ(import.jobs[0].gpus, 1);
  EXPECT_EQ(import.jobs[1].gpus, 2);
  EXPECT_EQ(epochs_of(import.jobs[1]), 2);
  EXPECT_EQ(val_loss_of(import.jobs[1]), 0.4);
  EXPECT_THAT(import.jobs[1].sources, ElementsAre("slurm-1.out", "slurm-2.err"));
  EXPECT_EQ(import.jobs[2].id, "3");
  EXPECT_EQ(training_time_of(import.jobs[2])->value, 3.1);
}

TEST(SlurmLog, ARequeuedJobKeepsItsLastAttempt) {
  const auto import =
      import_texts({{"slurm-5.out",
                     "Job ID: 5\nEpoch 1/3 loss=0.9 val_loss=0.1\nEpoch 2/3 loss=0.8 val_loss=0.7\n"
                     "slurmstepd: error: *** JOB 5 ON gpu1 CANCELLED AT 2025-11-11T10:00:00 DUE TO PREEMPTION ***\n"
                     "Job ID: 5\nEpoch 1/3 loss=0.9 val_loss=0.5\nTotal training time: 3 s\n"}});
  const SlurmJob& job = import.jobs.front();
  EXPECT_EQ(job.attempts, 2);
  EXPECT_EQ(job.epochs.size(), 1u);
  EXPECT_EQ(val_loss_of(job), 0.5);
  EXPECT_TRUE(has_flag(import.flags, "restarted", "started 2 times"));
  EXPECT_TRUE(has_flag(import.flags, "interrupted", "PREEMPTION"));
}

TEST(SlurmLog, ARestartInTheMiddleOfALineLeavesNothingOfTheAttemptBefore) {
  const auto import =
      import_texts({{"slurm-5.out",
                     "Job ID: 5\nEpoch 1/3 loss=0.9 val_loss=0.1\n"
                     "slurmstepd: error: *** JOB 5 ON gpu1 CANCELLED AT 2025-11-11T10:00:00 DUE TO PREEMPTION ***\n"
                     "Epoch 1/3 loss=0.8; Job ID: 5; loss: 0.7 val_loss=0.6\n"}});
  const SlurmJob& job = import.jobs.front();
  EXPECT_EQ(job.attempts, 2);
  ASSERT_EQ(job.epochs.size(), 1u);
  EXPECT_EQ(job.epochs.front().loss->value, 0.7);
  EXPECT_EQ(val_loss_of(job), 0.6);
}

TEST(SlurmLog, LossesThatAreNoNumbersAreCounted) {
  const std::string text = fmt::format("Epoch 1/2 loss=nan\nEpoch 2/2 loss=inf\n{}", kEnd);
  const auto flags = flags_of(text);
  EXPECT_TRUE(has_flag(flags, "non_finite", "2 times, first in line 1")) << listed(flags);
}

TEST(SlurmLog, FewerEpochsThanPlannedAreFlagged) {
  const std::string text = fmt::format("Epoch 1/5 loss=0.5 val_loss=0.5\nEpoch 2/5 loss=0.4 val_loss=0.4\n{}", kEnd);
  EXPECT_TRUE(has_flag(flags_of(text), "fewer_epochs", "2 of 5 planned"));
}

TEST(SlurmLog, PercentWithoutItsSignIsSaid) {
  const std::string text = fmt::format("Epoch 1/1 val_acc=91.5\n{}", kEnd);
  const auto import = import_texts({{"slurm-7.out", text}});
  EXPECT_DOUBLE_EQ(*val_accuracy_of(import.jobs.front()), 0.915);
  EXPECT_THAT(kinds_of(import.flags), ElementsAre("percent_assumed"));
}

TEST(SlurmLog, ProblemsByTheirWords) {
  struct Case {
    std::string_view line;
    ErrorKind kind;
  };
  for (const Case& one : {
           Case{"RuntimeError: CUDA out of memory. Tried to allocate 20 MiB", ErrorKind::oom},
           Case{"slurmstepd: error: Detected 1 oom_kill event in StepId=1.0", ErrorKind::oom},
           Case{"srun: error: gpu1: task 3: Out Of Memory", ErrorKind::oom},
           Case{"slurmstepd: error: *** JOB 7 ON gpu1 CANCELLED AT 2025-01-01T00:00:00 DUE TO TIME LIMIT ***",
                ErrorKind::timeout},
           Case{"slurmstepd: error: *** JOB 7 ON gpu1 CANCELLED AT 2025-01-01T00:00:00 ***", ErrorKind::interrupted},
           Case{"[rank2]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp",
                ErrorKind::lost_peer},
           Case{"ValueError: bad shape", ErrorKind::crash},
           Case{"srun: error: gpu1: task 0: Segmentation fault (core dumped)", ErrorKind::crash},
           Case{"/var/spool/slurmd/job7/slurm_script: line 12:  913 Killed   python train.py", ErrorKind::crash},
           Case{"ERROR: could not open the data set", ErrorKind::crash},
       }) {
    const SlurmJob job = job_in(std::string(one.line) + "\n");
    ASSERT_EQ(job.problems.size(), 1u) << one.line;
    EXPECT_EQ(job.problems[0].kind, one.kind) << one.line;
  }
  EXPECT_THAT(job_in("/var/spool/slurmd/job7/slurm_script: line 3: module: command not found\n").problems, IsEmpty());
}

TEST(SlurmLog, ManyProblemsAreCountedNotKept) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "ValueError: bad shape\n";
  const SlurmJob job = job_in(text);
  EXPECT_EQ(job.problems.size() + static_cast<std::size_t>(job.problems_left_out), 1000u);
  EXPECT_LT(job.problems.size(), 100u);
}

TEST(SlurmLog, WrongEncodingsGetAClearMessage) {
  using namespace std::string_view_literals;
  for (const auto bytes : {"\xFF\xFEJ\0o\0b\0"sv, "\xFE\xFF\0J\0o\0b"sv, "J\0o\0b\0 \0I\0D\0:\0 \0001\0"sv}) {
    const auto log = parse_slurm_log(bytes, "slurm-1.out");
    ASSERT_FALSE(log.ok());
    EXPECT_EQ(log.error().kind, ErrorKind::bad_file);
    EXPECT_THAT(log.error().message, testing::HasSubstr("'slurm-1.out' is UTF-16"));
    EXPECT_THAT(log.error().hint, testing::HasSubstr("iconv -f UTF-16 -t UTF-8"));
  }
  EXPECT_FALSE(parse_slurm_log("\x1F\x8B\x08\0\0\0"sv, "slurm-1.out.gz").ok());
  // One bad file does not keep the others from being read.
  const auto import = import_texts({{"slurm-1.out", "\xFF\xFEJ\0"sv}, {"slurm-2.out", kEnd}});
  EXPECT_EQ(import.jobs.size(), 1u);
  EXPECT_TRUE(has_flag(import.flags, "unreadable", "UTF-16"));
}

TEST(SlurmLog, InvalidBytesAreFlaggedAndTheRestIsRead) {
  const std::string text = fmt::format("Job Name: caf\xE9\nTotal GPUs: 4\n{}", kEnd);
  const auto import = import_texts({{"slurm-7.out", text}});
  EXPECT_TRUE(has_flag(import.flags, "invalid_utf8", "line 1")) << listed(import.flags);
  EXPECT_EQ(import.jobs.front().name, "caf\xEF\xBF\xBD");
  EXPECT_EQ(import.jobs.front().gpus, 4);

  std::string holes = "Total GPUs: 4\n";
  holes += std::string(100, '\0') + "\n" + std::string(kEnd);
  const auto lost = import_texts({{"slurm-7.out", holes}});
  EXPECT_TRUE(has_flag(lost.flags, "nul_bytes", "100 zero bytes from line 2"));
  EXPECT_EQ(training_time_of(lost.jobs.front())->value, 10);
  // A byte order mark is nothing to complain about.
  EXPECT_EQ(listed(flags_of(fmt::format("\xEF\xBB\xBFTotal GPUs: 1\n{}", kEnd))), "");
}

TEST(SlurmLog, EmptyAndForeignFilesSaySo) {
  EXPECT_THAT(kinds_of(flags_of("")), ElementsAre("empty"));
  EXPECT_THAT(kinds_of(flags_of("\n\n\n")), ElementsAre("nothing_found"));
  EXPECT_THAT(kinds_of(flags_of("Dear all,\nthe meeting: tomorrow.\n")), ElementsAre("nothing_found"));
}

TEST(SlurmLog, HugeLinesAndManyLines) {
  std::string huge(std::size_t{8} << 20, 'x');
  huge += " Total GPUs: 2\n" + std::string(std::size_t{4} << 20, '=') + "\n" + std::string(std::size_t{1} << 20, ':') +
          "\n";
  for (int i = 0; i < 200000; ++i) huge += "Error: loss= ";
  huge += "\n" + std::string(kEnd);
  EXPECT_EQ(job_in(huge).gpus, 2);

  std::string many = "Total GPUs: 8\n";
  for (int i = 0; i < 1'000'000; ++i) many += i % 2 ? "loading shard\n" : "step 5 loss=0.25\n";
  many += kEnd;
  const SlurmJob job = job_in(many);
  EXPECT_EQ(job.lines, 1'000'002);
  EXPECT_EQ(training_time_of(job)->value, 10);
}

TEST(SlurmLog, HostlistsAreCounted) {
  EXPECT_EQ(count_hosts("gpu01"), 1);
  EXPECT_EQ(count_hosts("gpu[01-03,07],login1"), 5);
  EXPECT_EQ(count_hosts("a[1-2]b[1-3]"), 6);
  EXPECT_EQ(count_hosts("a, b"), 2);
  for (const auto* text : {"", "a,,b", "gpu[01", "gpu[x-y]", "gpu[5-1]", "gpu[1-99999999]", "not assigned"}) {
    EXPECT_EQ(count_hosts(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace assay
