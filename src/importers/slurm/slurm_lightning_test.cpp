#include "importers/slurm/slurm_log_fixture.h"

// Logs of PyTorch Lightning, and lines of several ranks.

namespace assay {
namespace {

TEST(SlurmLog, LightningsOwnEndIsAnEnd) {
  const std::string text =
      "Epoch 0: 100%|██████████| 79/79 [00:02<00:00, 31.10it/s, v_num=0, train_loss=0.612, val_loss=0.583]\n"
      "Epoch 1: 100%|██████████| 79/79 [00:02<00:00, 31.10it/s, v_num=0, train_loss=0.512, val_loss=0.498]\n"
      "Epoch 2: 100%|██████████| 79/79 [00:02<00:00, 31.10it/s, v_num=0, train_loss=0.402, val_loss=0.401]\n"
      "`Trainer.fit` stopped: `max_epochs=3` reached.\n";
  const SlurmJob job = job_in(text);
  EXPECT_TRUE(finished(job));
  EXPECT_EQ(job.epochs_planned, 3);
  EXPECT_EQ(epochs_of(job), 3);
  EXPECT_EQ(listed(flags_of(text)), "");
  EXPECT_FALSE(finished(job_in("Epoch 0: loss=0.5\nTrainer was signaled to stop\n")));
}

TEST(SlurmLog, LightningsRanksAreCounted) {
  EXPECT_EQ(job_in("Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/4\n" + std::string(kEnd)).tasks, 4);
  EXPECT_EQ(job_in("Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/4\n" + std::string(kEnd)).tasks, 4);
  EXPECT_EQ(job_in("----\ndistributed_backend=nccl\nAll distributed processes registered. Starting with 8 processes\n" +
                   std::string(kEnd))
                .tasks,
            8);
  EXPECT_EQ(job_in("TEAM MEMBER: 3\n" + std::string(kEnd)).tasks, std::nullopt);
}

TEST(SlurmLog, RanksDoNotMixInOneRow) {
  const SlurmJob job = job_in(
      "1: Epoch 1: loss=0.91 val_loss=0.81\n"
      "0: Epoch 1: loss=0.90 val_loss=0.80\n"
      "0: Epoch 2: loss=0.70 val_loss=0.60\n"
      "1: Epoch 2: loss=0.71 val_loss=0.55 val_acc=0.9\n" +
      std::string(kEnd));
  ASSERT_EQ(job.epochs.size(), 2u);
  EXPECT_EQ(job.epochs[0].loss->value, 0.90);
  EXPECT_EQ(job.epochs[0].val_loss->value, 0.80);
  EXPECT_EQ(job.epochs[1].loss->value, 0.70);
  EXPECT_EQ(job.epochs[1].val_loss->value, 0.60);
  EXPECT_EQ(job.epochs[1].val_accuracy, std::nullopt) << "rank 1 said that";
  EXPECT_EQ(val_loss_of(job), 0.60);
}

TEST(SlurmLog, TheLastBarAloneStandsForAllEpochs) {
  const std::string bar = "Epoch 49: 100%|██████████| 79/79 [00:01<00:00, 41.5it/s, v_num=0, val_loss=0.119]\n";
  const SlurmJob job = job_in(bar + "Total training time: 100.00 seconds\n");
  EXPECT_EQ(epochs_of(job), 50);
  EXPECT_DOUBLE_EQ(*seconds_per_epoch_of(job), 2);
  EXPECT_EQ(epochs_of(job_in("Epoch 50/50 loss=0.1 val_loss=0.2\n" + std::string(kEnd))), 50);
  EXPECT_EQ(epochs_of(job_in("Restoring states from the checkpoint path at a.ckpt\n" + bar + std::string(kEnd))), 1)
      << "nobody knows how many the earlier start did";
}

}  // namespace
}  // namespace assay
