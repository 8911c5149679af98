#include "api/cluster_types.h"

namespace assay {

template <>
const ApiEnum<AlertSeverity>& api_enum() {
  static const auto words =
      named_enum<AlertSeverity>("AlertSeverity", "How grave an alert is.",
                                {AlertSeverity::info, AlertSeverity::warning, AlertSeverity::critical});
  return words;
}

template <>
const ApiEnum<AlertState>& api_enum() {
  static const auto words =
      named_enum<AlertState>("AlertState", "Whether it still holds.", {AlertState::open, AlertState::resolved});
  return words;
}

template <>
const ApiType<Alert>& api_type() {
  static const auto type = ApiType<Alert>("Alert", "Something that somebody should know.")
                               .field("id", &Alert::id, "What it is known by")
                               .field("rule", &Alert::rule, "Which rule raised it")
                               .field("severity", &Alert::severity, "How grave it is")
                               .field("state", &Alert::state, "Whether it still holds")
                               .field("node", &Alert::node, "Where")
                               .field("about", &Alert::about, "A GPU's UUID, a file system; empty: the node")
                               .field("what", &Alert::what, "One sentence with its values")
                               .field("remedy", &Alert::remedy, "What to do")
                               .field<AsNanos>("since_ns", &Alert::since, "Since when")
                               .field("last_value", &Alert::last_value, "The newest, in the unit of the rule")
                               .field("worst_value", &Alert::worst_value, "Since it was raised")
                               .field("threshold", &Alert::threshold, "Of the rule; null: it has none")
                               .field("values", &Alert::values, "What else was known, by name")
                               .optional<AsNanos>("resolved_at_ns", &Alert::resolved_at, "When it was over");
  return type;
}

template <>
const ApiType<AlertRecord>& api_type() {
  static const auto type =
      ApiType<AlertRecord>("AlertView", "An alert and what people did about it.")
          .all_of(&AlertRecord::alert)
          .field<TimeOrEmpty>("acknowledged_at", &AlertRecord::acknowledged_at, "When somebody took it; may be empty")
          .field("acknowledged_by", &AlertRecord::acknowledged_by, "Who; may be empty")
          .field("note", &AlertRecord::note, "What they said; may be empty")
          .field("silenced", &AlertRecord::silenced, "Whether a silence covers it now")
          .field("told", &AlertRecord::told, "Whether people were told of it");
  return type;
}

template <>
const ApiType<AlertList>& api_type() {
  static const auto type = ApiType<AlertList>("AlertList", "What needs attention.")
                               .field("alerts", &AlertList::alerts, "Open ones first")
                               .added("next", &AlertList::next, "For `before`: there may be more; empty: that is all");
  return type;
}

template <>
const ApiType<AlertNote>& api_type() {
  static const auto type = ApiType<AlertNote>("AlertNote", "That somebody takes care of an alert.")
                               .optional("note", &AlertNote::note, "For the others");
  return type;
}

template <>
const ApiType<Silence>& api_type() {
  static const auto type = ApiType<Silence>("Silence", "Alerts that nobody is told about for a while.")
                               .field("id", &Silence::id, "What it is known by")
                               .field("rule", &Silence::rule, "Of this rule; empty: any")
                               .field("node", &Silence::node, "On this node; empty: any")
                               .field("about", &Silence::about, "About this thing; empty: any")
                               .field("by", &Silence::by, "Who asked for it")
                               .field("until", &Silence::until, "When it ends")
                               .field("reason", &Silence::reason, "For the others; may be empty");
  return type;
}

template <>
const ApiType<SilenceList>& api_type() {
  static const auto type = ApiType<SilenceList>("SilenceList", "What nobody is told about.")
                               .field("silences", &SilenceList::silences, "That have not ended");
  return type;
}

template <>
const ApiType<SilenceRequest>& api_type() {
  static const auto type =
      ApiType<SilenceRequest>("SilenceRequest", "Alerts to tell nobody about: those that fit rule, node and about.")
          .optional("rule", &SilenceRequest::rule, "The name of a rule")
          .optional("node", &SilenceRequest::node, "The name of a node")
          .optional("about", &SilenceRequest::about, "A GPU, a file system")
          .optional("everything", &SilenceRequest::everything,
                    "true: every alert of the cluster, instead of a rule, a node or a thing")
          .field("for", &SilenceRequest::length, "How long: 2h")
          .optional("reason", &SilenceRequest::reason, "For the others");
  return type;
}

}  // namespace assay
