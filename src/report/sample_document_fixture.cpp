#include "report/sample_document_fixture.h"

#include <limits>

#include "report/chart/sample_charts_fixture.h"
#include "report/text/hostile_text_fixture.h"

namespace assay {
namespace {

FigureTable scaling_table() {
  FigureTable table;
  table.id = "scaling";
  table.title = "Strong scaling, ResNet-50, global batch 2,048";
  table.columns = {{"gpus", "GPUs", "", Align::right},
                   {"samples_per_second", "Throughput", " samples/s", Align::right},
                   {"interval_percent", "95 % interval", " %", Align::right},
                   {"speedup", "Speed-up", "×", Align::right},
                   {"efficiency_percent", "Efficiency", " %", Align::right},
                   {"verdict", "Verdict", "", Align::left, true}};
  const auto add = [&](const char* gpus, double value, const char* rate, const char* interval, const char* speedup,
                       const char* efficiency, Tone tone, const char* verdict) {
    table.rows.push_back({Figure(gpus), Figure(rate, value), Figure(interval), Figure(speedup),
                          Figure(efficiency, tone), Figure(verdict)});
  };
  add("1", 1379.123456, "1,379", "±0.6", "1.00", "100", Tone::plain, "baseline");
  add("2", 2675.5, "2,676", "±0.8", "1.94", "97.0", Tone::good, "good");
  add("4", 5226.2, "5,226", "±1.1", "3.79", "94.8", Tone::good, "good");
  add("8", 9790.4, "9,790", "±1.0", "7.10", "88.8", Tone::good, "good");
  add("16", 17376.0, "17,376", "±2.9", "12.6", "78.8", Tone::warning, "noisy: one run of five was throttled");
  add("32", 28821.0, "28,821", "±1.4", "20.9", "65.3", Tone::bad, "below 75 %");
  table.rows.push_back(
      {Figure("64"), Figure(), Figure(), Figure(), Figure(), Figure("not run: out of nodes", Tone::muted)});
  table.rows[1][1].value = std::numeric_limits<double>::quiet_NaN();
  table.notes = {"Efficiency is the speed-up divided by the number of GPUs; the baseline is measured, not assumed.",
                 "Five runs per configuration, in seeded random order."};
  return table;
}

FindingList findings() {
  return {
      .id = "issues",
      .findings =
          {{Severity::problem, "slow_node", "gpu07", "12.8 % slower than its peers in every run",
            "1,204 samples/s against a median of 1,381 (11 nodes, 5 runs each); SM clock 1,410 MHz against 1,980 MHz.",
            "Look for a power cap: nvidia-smi -q -d POWER, and take the node out of the pool until it is gone."},
           {Severity::warning, "throttled", "16 GPUs, run 3", "Clocks fell during the measured part",
            "HW slowdown for 41 s of 300 s.", "Repeat the run when the rack is below 27 °C."},
           {Severity::note, "few_repeats", "",
            "Fewer than ten repeats: differences below 1.9 % cannot be told from noise", "", ""}},
      .if_empty = "Nothing was found wrong."};
}

}  // namespace

Document sample_document() {
  Document document;
  document.title = "ResNet-50 on 32 H200 GPUs: scaling study";
  document.subtitle = "Study s-4k2m · cluster alpha · 45 runs between 2026-11-02 and 2026-11-03";
  document.verdict = "44 of 45 runs valid, one node needs attention";
  document.verdict_tone = Tone::warning;
  document.sections = {
      {"summary",
       "Summary",
       {Paragraph{"Training scales well up to 8 GPUs (88.8 % efficiency) and falls below the 75 % line at 32. "
                  "Communication explains most of the loss: the all-reduce share of a step grows from 2 % to 27 %.",
                  Tone::plain},
        findings()}},
      {"scaling", "Scaling", {scaling_table(), sample_chart("speedup"), sample_chart("efficiency")}},
      {"nodes", "Nodes", {sample_chart("nodes"), sample_chart("memory")}},
      {"training",
       "Training and serving",
       {sample_chart("loss"), sample_chart("latency"), sample_chart("heat"), sample_chart("roofline")}},
      {"environment",
       "Environment",
       {FactList{"environment",
                 {{"GPU", "NVIDIA H200 141 GB HBM3e, 8 per node"},
                  {"Driver", "570.86.15"},
                  {"CUDA", "12.8"},
                  {"Framework", "PyTorch 2.7.0+cu128, NCCL 2.26.2"},
                  {"Network", "8 × 400 Gbit/s InfiniBand NDR, SHARP off"},
                  {"Container", ""}}}},
       true},
      {"method",
       "Method",
       {Paragraph{
           "Warm-up ends where MSER-5 puts it; figures are means over the steady part with batch-means intervals.",
           Tone::muted}},
       false},
  };
  document.data = {{"study", "s-4k2m"}};
  return document;
}

Document hostile_document() {
  const std::string evil = hostile_text();
  Document document{
      .title = evil, .subtitle = evil, .verdict = evil, .verdict_tone = Tone::bad, .sections = {}, .data = {}};
  for (int i = 0; i < 5; ++i) {
    document.sections.push_back(
        {evil,
         evil,
         {Paragraph{evil, Tone::bad},
          FigureTable{evil,
                      evil,
                      {{evil, evil, evil}, {"n", "n", "", Align::right, true}},
                      {{Figure(evil), Figure("1", 1.0)}, {Figure(""), Figure(evil, Tone::warning)}},
                      {evil}},
          FactList{evil, {{evil, evil}, {"", ""}}},
          FindingList{evil, {{Severity::problem, evil, evil, evil, evil, evil}}, evil}, FindingList{evil, {}, evil}},
         true});
    for (auto& chart : hostile_charts()) document.sections.back().blocks.emplace_back(std::move(chart));
  }
  return document;
}

}  // namespace assay
