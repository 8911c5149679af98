#include "report/build/answers.h"

namespace assay {

Answers answers_to(const ReportInput& input) {
  Answers answers{.input = input, .arms = arms_of(input.runs), .goals = Goals(input.runs, input.options)};
  answers.scaling = scaling_answer(answers.arms, input.options);
  answers.outcomes = outcomes_answer(answers.arms, answers.goals, input.options);
  if (answers.outcomes) answers.matrix = matrix_answer(*answers.outcomes, input.options);
  answers.nodes = nodes_answer(input.runs);
  answers.serving = serving_answer(input.runs);
  answers.issues = issues_in(answers);
  return answers;
}

}  // namespace assay
