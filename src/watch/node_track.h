#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "watch/condition.h"
#include "watch/gpu_track.h"
#include "watch/rule_view.h"
#include "watch/steady_rise.h"
#include "watch/watch_rules.h"

namespace assay {

/// What is kept of one file system between looks.
struct DiskTrack {
  std::string mount;
  SteadyRise used;
  bool fresh = true;  ///< not judged yet
  std::array<RuleCondition, kDiskRules> conditions;
  WallTime last_reported;
};

/// What is kept of one rule of events for one thing.
struct EventTrack {
  RuleId rule = RuleId::count;
  std::string about;
  WallTime last_event;
  bool raised = false;
};

/// What is kept of one node between looks.
struct NodeTrack {
  std::uint64_t last_look = 0;  ///< number of the last look at which the cluster had this node
  bool reports = false;         ///< its values are fresh
  Nanos phase{};                ///< spreads the work of SteadyRise over time
  SteadyRise memory;
  std::vector<GpuTrack> gpus;
  std::vector<DiskTrack> disks;
  std::vector<EventTrack> events;
  std::array<RuleCondition, kNodeRules> conditions;

  RuleCondition& condition(RuleId rule) { return conditions[static_cast<std::size_t>(rule) - kGpuRules]; }

  /// Takes the values of a node that reports. Things that are not in the view are forgotten after `kForgetAfter`;
  /// more than the limits are not looked at.
  void add(const NodeView& node, const Smoothing& smoothing, WallTime now);
  /// Null if there is none.
  GpuTrack* gpu(std::string_view uuid, std::size_t likely_place);
  DiskTrack* disk(std::string_view mount, std::size_t likely_place);
  /// Made if it is missing; null when there are too many.
  EventTrack* event(RuleId rule, std::string_view about);
  /// Every wait starts anew but that for the loss of the node itself.
  void pause_values();

  static constexpr Nanos kForgetAfter = std::chrono::hours(1);
  static constexpr std::size_t kMostGpus = 1024;
  static constexpr std::size_t kMostDisks = 256;
  static constexpr std::size_t kMostEvents = 256;
};

}  // namespace assay
