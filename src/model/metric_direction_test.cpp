#include "model/metric_direction.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

using enum MetricInfo::Better;

TEST(MetricDirection, IsKnownByTheWordsOfAName) {
  for (const char* name : {"f1_score", "train/f1", "eval_accuracy", "valAcc", "tokens_per_sec", "it/s", "auc", "BLEU"})
    EXPECT_EQ(better_by_name(name), higher) << name;
  for (const char* name :
       {"loss", "train_loss", "Eval/Loss", "step_time_ms", "epoch.val_loss", "wer", "seconds_per_step"})
    EXPECT_EQ(better_by_name(name), lower) << name;
}

TEST(MetricDirection, WhatCountsOrSetsHasNone) {
  for (const char* name : {"epoch", "learning_rate", "lr", "steps_done"})
    EXPECT_EQ(better_by_name(name), neither) << name;
}

TEST(MetricDirection, IsNotGuessed) {
  for (const char* name : {"score", "alpha", "my_figure", "accuracy_loss", "", "_", "timestep"})
    EXPECT_EQ(better_by_name(name), std::nullopt) << name;
}

TEST(MetricDirection, SpeedIsToldFromQuality) {
  for (const char* name : {"step_time", "samples_per_second", "it/s", "latency_ms"})
    EXPECT_TRUE(names_speed(name)) << name;
  for (const char* name : {"f1_score", "loss", "timestep"}) EXPECT_FALSE(names_speed(name)) << name;
}

}  // namespace
}  // namespace assay
