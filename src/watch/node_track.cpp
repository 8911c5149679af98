#include "watch/node_track.h"

#include <algorithm>

namespace assay {
namespace {

/// Checkpoints come and go within an hour; over six hours a disk shows where it is heading.
constexpr Nanos kDiskSpan = std::chrono::minutes(6);

/// The order hardly ever changes from look to look, so the place of the last time is tried first.
template <typename Tracks, typename Same>
auto find_in(Tracks& tracks, std::size_t likely_place, Same same) -> typename Tracks::pointer {
  if (likely_place < tracks.size() && same(tracks[likely_place])) return &tracks[likely_place];
  const auto found = std::find_if(tracks.begin(), tracks.end(), same);
  return found == tracks.end() ? nullptr : &*found;
}

}  // namespace

GpuTrack* NodeTrack::gpu(std::string_view uuid, std::size_t likely_place) {
  return find_in(gpus, likely_place, [&](const GpuTrack& track) { return track.uuid == uuid; });
}

DiskTrack* NodeTrack::disk(std::string_view mount, std::size_t likely_place) {
  return find_in(disks, likely_place, [&](const DiskTrack& track) { return track.mount == mount; });
}

EventTrack* NodeTrack::event(RuleId rule, std::string_view about) {
  EventTrack* found =
      find_in(events, 0, [&](const EventTrack& track) { return track.rule == rule && track.about == about; });
  if (found != nullptr || events.size() >= kMostEvents) return found;
  events.push_back({.rule = rule, .about = std::string(about), .last_event = WallTime::min(), .raised = false});
  return &events.back();
}

void NodeTrack::add(const NodeView& node, const Smoothing& smoothing, WallTime now) {
  memory.add(node.memory_used_bytes, node.memory_total_bytes, now);
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const GpuView& view = node.gpus[i];
    GpuTrack* track = gpu(view.uuid, i);
    if (track == nullptr) {
      if (gpus.size() >= kMostGpus) continue;
      track = &gpus.emplace_back();
      track->uuid = view.uuid;
      track->memory = SteadyRise(std::chrono::minutes(1), phase);
    }
    track->add(view, smoothing, now);
    track->last_reported = now;
  }
  std::erase_if(gpus, [&](const GpuTrack& track) { return now - track.last_reported > kForgetAfter; });
  static const GpuView kNothingKnown;
  for (GpuTrack& track : gpus) {
    if (track.last_reported == now) continue;
    track.add(kNothingKnown, smoothing, now);
    track.pause();
  }
  for (std::size_t i = 0; i < node.file_systems.size(); ++i) {
    const FileSystemView& view = node.file_systems[i];
    DiskTrack* track = disk(view.mount, i);
    if (track == nullptr) {
      if (disks.size() >= kMostDisks) continue;
      track = &disks.emplace_back();
      track->mount = view.mount;
      track->used = SteadyRise(kDiskSpan, phase);
    }
    track->used.add(view.used_bytes, view.used_bytes + view.available_bytes, now);
    track->last_reported = now;
  }
  std::erase_if(disks, [&](const DiskTrack& track) { return now - track.last_reported > kForgetAfter; });
}

void NodeTrack::pause_values() {
  for (std::size_t i = 0; i < kNodeRules; ++i) {
    if (static_cast<RuleId>(kGpuRules + i) != RuleId::node_lost) conditions[i].pause();
  }
  for (GpuTrack& gpu : gpus) gpu.pause();
  for (DiskTrack& disk : disks) {
    for (RuleCondition& condition : disk.conditions) condition.pause();
  }
}

}  // namespace assay
