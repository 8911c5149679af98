#include "model/study.h"

namespace assay {

json::object to_json(const PlannedRun& planned) {
  json::object object{{"variant", planned.variant},
                      {"repeat", planned.repeat},
                      {"configuration", planned.configuration},
                      {"ranks", planned.ranks},
                      {"nodes", planned.nodes}};
  if (!planned.node.empty()) object["node"] = planned.node;
  if (!planned.run.empty()) object["run"] = planned.run;
  object["spec"] = planned.spec;
  return object;
}

Result<PlannedRun> planned_run_from_json(const json::value& value) {
  JsonFields fields(value, "planned run");
  PlannedRun planned;
  planned.variant = fields.text("variant");
  planned.repeat = fields.small_integer("repeat");
  planned.configuration = fields.small_integer_or("configuration", 0);
  planned.ranks = fields.small_integer_or("ranks", 1);
  planned.nodes = fields.small_integer_or("nodes", 1);
  planned.node = fields.text_or("node", "");
  planned.run = fields.text_or("run", "");
  planned.spec = fields.object_or_empty("spec");
  ASSAY_CHECK(fields.finish());
  return planned;
}

json::object to_json(const Study& study) {
  json::object object{
      {"schema", kStudySchema},
      {"id", study.id},
      {"name", study.name},
      {"tags", json::value_from(study.tags)},
      {"created", iso8601(study.created)},
      {"source", study.source},
      {"spec_hash", study.spec_hash},
  };
  auto& plan = object["plan"].emplace_array();
  for (const auto& planned : study.plan) plan.push_back(to_json(planned));
  if (study.flags.empty()) return object;
  auto& flags = object["flags"].emplace_array();
  for (const auto& flag : study.flags) flags.push_back(to_json(flag));
  return object;
}

Result<Study> study_from_json(const json::value& value) {
  ASSAY_CHECK(check_schema(value, kStudySchema, "study"));
  JsonFields fields(value, "study");
  Study study;
  study.id = fields.text("id");
  study.name = fields.text_or("name", "");
  study.tags = fields.texts_or_empty("tags");
  const auto created = fields.text("created");
  study.source = fields.text_or("source", "");
  study.spec_hash = fields.text_or("spec_hash", "");
  for (const auto& item : fields.array_or_empty("plan")) {
    ASSAY_TRY(auto planned, planned_run_from_json(item));
    study.plan.push_back(std::move(planned));
  }
  for (const auto& flag : fields.array_or_empty("flags")) study.flags.push_back(flag_from_json(flag, fields));
  ASSAY_CHECK(fields.finish());
  ASSAY_TRY(study.created, parse_iso8601(created).within("study: 'created'"));
  return study;
}

}  // namespace assay
