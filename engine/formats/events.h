#pragma once

#include <boost/json/object.hpp>
#include <string_view>

namespace assay::engine {

/// Writes one line of the workload protocol to where ASSAY_EVENTS says (`fd:N`, `file:PATH`, `unix:PATH`), else to
/// standard output; `"assay": 1` is put in front. An event that cannot be written is told on standard error and
/// dropped: a workload does not die of a lost listener.
void emit_event(std::string_view type, const boost::json::object& fields);

}  // namespace assay::engine
