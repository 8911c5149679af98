#include "report/html_style.h"

#include <fmt/format.h>

#include "report/chart/palette.h"

namespace assay {
namespace {

constexpr std::string_view kPage = R"(
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-padding-top:1rem}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:break-word}
.page{max-width:84rem;margin:0 auto;padding:2.75rem 2rem 4rem}
header{max-width:60rem}
h1{margin:0;font-size:1.85rem;line-height:1.2;font-weight:650;letter-spacing:-.015em;overflow-wrap:anywhere}
h2{margin:0 0 1rem;padding-top:.9rem;border-top:1px solid var(--rule);font-size:1.22rem;line-height:1.3;font-weight:650;letter-spacing:-.008em;overflow-wrap:anywhere}
h3{margin:0 0 .6rem;font-size:.95rem;line-height:1.35;font-weight:600;overflow-wrap:anywhere}
p{margin:0 0 .8rem;max-width:46rem;white-space:pre-line;overflow-wrap:anywhere}
a{color:var(--link);text-decoration:none}
a:hover{text-decoration:underline}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
code{font:.86em ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace}
.subtitle{margin:.45rem 0 0;color:var(--soft)}
.verdict{display:inline-block;margin:1.1rem 0 0;padding:.32rem .8rem .34rem;border:1px solid currentColor;border-radius:.4rem;font-weight:600}
.contents{margin:1.6rem 0 0}
.contents h2{margin:0 0 .35rem;padding:0;border:0;font-size:.78rem;font-weight:600;color:var(--soft);letter-spacing:.02em}
.contents ol{margin:0;padding:0;list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.1rem}
.contents a{overflow-wrap:anywhere}
section{margin-top:2.4rem}
section>*:last-child{margin-bottom:0}
.block{margin:0 0 1.7rem}
.good{color:var(--good)}.warning{color:var(--warning)}.bad{color:var(--bad)}.muted{color:var(--soft)}
td.good,td.warning,td.bad,.strong{font-weight:600}
.mark{font-size:.82em;margin-right:.3em}
)";

constexpr std::string_view kBlocks = R"(
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.92rem;line-height:1.4}
caption{padding:0 0 .55rem;text-align:left;font-size:.95rem;font-weight:600}
th,td{padding:.36rem 1.2rem .36rem 0;text-align:left;vertical-align:top}
.dense th,.dense td{padding-right:.8rem}
th:last-child,td:last-child{padding-right:.25rem}
thead th{padding-bottom:.4rem;border-bottom:1px solid var(--soft);vertical-align:bottom;font-size:.82rem;font-weight:600;color:var(--soft)}
tbody th{font-weight:500}
caption span{position:sticky;left:0;display:inline-block;max-width:calc(100vw - 2rem)}
tbody tr+tr>*{border-top:1px solid var(--grid)}
tbody tr:last-child>*{border-bottom:1px solid var(--rule)}
tbody tr:hover>*{background:var(--panel)}
td,tbody th{max-width:30rem;overflow-wrap:break-word}
.number{text-align:right}
.whole{white-space:nowrap}
td.short{max-width:16rem}
td.long,tbody th.long{min-width:6rem}
.unit,.unknown{color:var(--soft);font-weight:400}
.notes{margin:.6rem 0 0;padding:0;list-style:none;color:var(--soft);font-size:.87rem;max-width:46rem}
.notes li{overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:fit-content(16rem) minmax(0,1fr);gap:.22rem 1.6rem;font-size:.92rem;max-width:52rem}
dt{color:var(--soft);overflow-wrap:anywhere}
dd{margin:0;overflow-wrap:anywhere}
.findings{margin:0 0 1.7rem;padding:0;list-style:none;display:grid;gap:.6rem}
.finding{padding:.75rem 1rem .8rem;border:1px solid var(--rule);border-left:3px solid var(--soft);border-radius:.35rem;background:var(--panel)}
.finding.problem{border-left-color:var(--bad)}.finding.warning{border-left-color:var(--warning);color:inherit}
.finding p{margin:.2rem 0 0;max-width:54rem}
.finding .what{margin:0;font-weight:600}
.finding .severity{font-weight:600;margin-right:.55em}
.finding.problem .severity{color:var(--bad)}.finding.warning .severity{color:var(--warning)}.finding.note .severity{color:var(--soft)}
.finding .rule{color:var(--soft);font-weight:400;margin-left:.55em}
.finding .evidence{color:var(--soft)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,27.5rem),1fr));gap:2rem 2.5rem;margin:0 0 1.7rem}
figure{margin:0;min-width:0}
.charts figure.wide{grid-column:1/-1;max-width:none}
.chart{display:block;width:100%;height:auto}
figcaption{margin:.5rem 0 0;color:var(--soft);font-size:.87rem;line-height:1.45;max-width:46rem;overflow-wrap:anywhere}
)";

constexpr std::string_view kWide = R"(
@media (min-width:78rem){
.page.with-contents{max-width:88rem;display:grid;grid-template-columns:12.5rem minmax(0,1fr);gap:0 3.5rem}
.with-contents header,.with-contents main{grid-column:2}
.with-contents .contents{grid-column:1;grid-row:1/span 3;margin:.4rem 0 0}
.contents .inner{position:sticky;top:2rem;max-height:calc(100vh - 4rem);overflow-y:auto}
.contents ol{display:grid;gap:.32rem;font-size:.9rem;line-height:1.35}
.contents a{color:var(--soft)}
.contents a:hover{color:var(--link)}
}
)";

constexpr std::string_view kNarrow = R"(
@media (max-width:40rem){
body{font-size:14.5px}
.page{padding:1.5rem 1rem 3rem}
h1{font-size:1.45rem}
section{margin-top:1.9rem}
th,td{padding-right:1.1rem}
table{width:max-content}
td{max-width:15rem}
tbody th{position:sticky;left:0;z-index:1;max-width:9.5rem;background:var(--paper)}
dl{grid-template-columns:minmax(0,1fr);gap:0}
dd{margin:0 0 .5rem}
.charts{gap:1.8rem}
.chart{font-size:13.5px}
}
)";

constexpr std::string_view kPrint = R"(
@page{margin:15mm 14mm}
html{font-size:9.5pt}
body{font-size:1rem;line-height:1.42}
.page,.page.with-contents{display:block;max-width:none;padding:0}
.contents{display:none}
h2{margin-bottom:.6rem;padding-top:.5rem}
h1,h2,h3,caption{break-after:avoid}
section{margin-top:1.3rem}
figure,tr,.finding,dt{break-inside:avoid}
thead{display:table-header-group}
.scroll{overflow:visible}
table{max-width:100%}
caption span{position:static;max-width:none}
th,td{padding-right:.8rem}
tbody th{position:static;max-width:none}
td,tbody th{overflow-wrap:anywhere}
td.long,tbody th.long{min-width:0}
tbody tr:hover>*{background:none}
.charts{grid-template-columns:1fr 1fr;gap:1rem 1.4rem}
.chart{min-width:0!important;-webkit-print-color-adjust:exact;print-color-adjust:exact}
.finding{background:none}
a{color:inherit}
)";

}  // namespace

std::string html_style() {
  std::string css = fmt::format(":root{{color-scheme:light dark;{}}}\n", css_variables(false));
  css += fmt::format("@media (prefers-color-scheme:dark){{:root{{{}}}}}\n", css_variables(true));
  css += kPage;
  css += kBlocks;
  css += chart_rules();
  css += kWide;
  css += kNarrow;
  // Last: paper is white, whatever the screen was.
  css += fmt::format("@media print{{\n:root{{color-scheme:light;{}}}{}}}\n", css_variables(false), kPrint);
  return css;
}

}  // namespace assay
