#pragma once

#include <string>
#include <vector>

#include "report/text/style.h"

namespace assay {

class RunStore;
struct Run;
struct Study;
struct StudyOutcome;
enum class RunState : int;
enum class Verdict : int;

/// A verdict with its mark and colour: `✔ valid`.
std::string verdict_text(Verdict verdict, RunState state, const TerminalStyle& style);
Colour verdict_colour(Verdict verdict, RunState state);

/// Everything about a run that fits on a screen: verdict, flags, metrics with their course, machine, and where the data
/// is: `data_folder` is empty where another machine has them. `store` is read for the course of the series.
std::string describe_run(const Run& run, RunStore& store, const std::string& data_folder, const TerminalStyle& style);

/// The runs of a study, one line each, and what became of it.
std::string describe_study(const Study& study, const StudyOutcome& outcome, const TerminalStyle& style);

}  // namespace assay
