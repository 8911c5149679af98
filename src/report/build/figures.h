#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/cost.h"
#include "analysis/significance.h"
#include "model/run_state.h"
#include "report/document.h"

namespace assay {

// How figures are printed in reports. Absent ones stay empty.

/// With a fixed number of decimals.
Figure fixed_figure(std::optional<double> value, int decimals, Tone tone = Tone::plain);
/// 0.952 → "95.2", for a column whose unit is " %". The exact value is in percent, too.
Figure percent_figure(std::optional<double> share, int decimals = 1, Tone tone = Tone::plain);
/// Times in seconds: "362.45", "0.1217".
Figure seconds_figure(std::optional<double> seconds);
/// Rates: "1379.5", "52.3", "1.46", "0.677".
Figure rate_figure(std::optional<double> per_second);
/// Token rates, counts of which nobody wants decimals: "748", "21.2".
Figure token_rate_figure(std::optional<double> per_second);
Figure count_figure(std::optional<double> count);
/// With its unit, as `format_value` writes it: for columns in which units differ.
Figure value_figure(std::optional<double> value, std::string_view unit, Tone tone = Tone::plain);
/// "$0.114", "0.980 EUR", "$1.20": costs of one unit of work have three decimals below 1, whole runs two.
Figure money_figure(const std::optional<Money>& money, int decimals_below_one = 3);

/// "0.0312", "< 0.0001": never a zero, which no test gives.
Figure p_figure(std::optional<double> p);
/// "p = 0.031", "p < 0.0001"
std::string p_text(double p);
/// One ratio, the same in tables and sentences: "1.024", "0.00312".
std::string ratio_text(double ratio);
Figure ratio_figure(double ratio);
/// "3.74–3.88", with both ends as numbers for scripts.
Figure range_figure(const std::optional<Interval>& interval, int decimals);
/// Mean ± standard deviation of the repeats; these, their count and both extremes as numbers for scripts.
Figure repeats_figure(const std::vector<double>& values, std::string_view unit);

std::string rate_text(double per_second);
std::string money_text(const Money& money, int decimals_below_one = 3);
/// "95.2 %"
std::string percent_text(double share, int decimals = 1);
/// "3.74–3.88"
std::string range_text(double low, double high, int decimals);

Tone tone_of(Verdict verdict);
Tone tone_of(ArmVerdict verdict);

/// Columns that nothing is known for are left out.
void drop_empty_columns(FigureTable& table);

/// Values in which runs differ, as one text: "adam | adamw"; the first few of many.
std::string differing_values(std::vector<std::string> values);

}  // namespace assay
