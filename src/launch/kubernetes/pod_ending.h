#pragma once

#include "launch/hosted/part_ending.h"
#include "launch/kubernetes/pod_state.h"

namespace assay {

/// How a part ended, from what the cluster says of its pod alone: its host had no time to say it. `stop_wished`: by the
/// owner.
PartEnding ending_of_pod(const PodState& pod, bool has_run, bool stop_wished);

/// Why a job has not started: a sentence that names the pod, what is wrong with it and, as its hint, what to do.
/// `warning`: the newest one among its events; may be empty.
Error not_started(const PodState& pod, std::string_view warning);

}  // namespace assay
