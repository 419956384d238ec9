// How the page looks. One accent a subject, paper and ink for all else; the colours keep a contrast
// of at least 4.5 to 1 for text and 3 to 1 for shapes, in light, dark and print.
#include "runner/reach/html_parts.h"

namespace runner::reach::html {

const char* const kStyle = R"css(
:root { color-scheme: light dark; --paper: #fbfaf7; --card: #ffffff; --ink: #1b2027;
  --soft: #59616c; --line: #dfdbd3; --a: #1c5fa8; --b: #ad4a08; --both: #7a828d; --dot: #8b887f;
  --tint-a: 28 95 168; --tint-b: 201 94 18; --wash: #f5efe6; }
@media (prefers-color-scheme: dark) { :root { --paper: #13161b; --card: #191d24; --ink: #e7e9ec;
  --soft: #a2abb7; --line: #2d333c; --a: #82b7f7; --b: #f2a25c; --both: #8d96a3; --dot: #6d7683;
  --tint-a: 90 150 230; --tint-b: 232 140 60; --wash: #221e1a; } }
@media print { :root { color-scheme: light; --paper: #fff; --card: #fff; --ink: #000;
  --soft: #444b55; --line: #c9c5bd; --a: #1c5fa8; --b: #ad4a08; --both: #7a828d; --dot: #8b887f;
  --tint-a: 28 95 168; --tint-b: 201 94 18; --wash: #f5efe6; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; }
main, header, footer { max-width: 1080px; margin: 0 auto; padding: 0 clamp(16px, 4vw, 40px); }
header { padding-top: clamp(28px, 6vw, 64px); }
.eyebrow { margin: 0 0 6px; color: var(--soft); font-size: .82rem; letter-spacing: .08em;
  text-transform: uppercase; }
h1 { margin: 0; font-size: clamp(1.8rem, 5.4vw, 3rem); line-height: 1.12; letter-spacing: -.02em;
  font-weight: 700; overflow-wrap: anywhere; }
h1 .against { color: var(--soft); font-weight: 400; }
.a { color: var(--a); } .b { color: var(--b); }
.lede { margin: 18px 0 0; max-width: 46em; font-size: 1.13rem; }
section { margin-top: clamp(40px, 7vw, 72px); }
h2 { margin: 0 0 6px; font-size: 1.4rem; letter-spacing: -.01em; line-height: 1.25; }
h3 { margin: 28px 0 8px; font-size: 1rem; }
section > p { margin: 0 0 18px; max-width: 46em; color: var(--soft); }
.bars { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr));
  gap: 28px 48px; margin: 34px 0 0; }
.bars h2 { font-size: .95rem; font-weight: 600; margin: 0 0 10px; }
.bars h2 small { display: inline; color: var(--soft); font-weight: 400; }
.bar { display: grid; grid-template-columns: minmax(5.5em, 30%) 1fr 3.2em; align-items: center;
  gap: 10px; margin: 6px 0; font-variant-numeric: tabular-nums; }
.bar .who { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-size: .92rem; }
.bar .track { height: 14px; border-radius: 3px; background: var(--line); overflow: hidden; }
.bar .fill { display: block; height: 100%; width: var(--w); background: currentColor;
  border-radius: 3px; }
.bar .n { text-align: right; font-weight: 650; font-size: 1.15rem; }
.legend { display: flex; flex-wrap: wrap; gap: 6px 22px; list-style: none; margin: 0 0 22px;
  padding: 0; font-size: .92rem; }
.legend li { display: flex; align-items: center; gap: 8px; overflow-wrap: anywhere; }
.key { flex: none; }
.maps { display: grid; grid-template-columns: repeat(auto-fill, 216px); gap: 26px 44px;
  justify-content: space-between; }
figure { margin: 0; width: 216px; break-inside: avoid; }
figcaption { display: flex; justify-content: space-between; gap: 10px; margin: 0 0 5px;
  padding-bottom: 3px; border-bottom: 1px solid var(--line); font-size: .92rem; font-weight: 600; }
.count { color: var(--soft); font-weight: 400; font-variant-numeric: tabular-nums; }
.count .a, .count .b { font-weight: 650; }
.map { display: block; max-width: 100%; height: auto; }
.both { fill: var(--both); } .only-b { fill: var(--b); } .only-a { fill: var(--a); }
.neither { fill: var(--dot); }
.unclear { stroke: var(--soft); stroke-width: 2; fill: none; }
.frame { overflow-x: auto; margin: 0 0 26px; }
.frame:focus-visible { outline: 2px solid var(--a); outline-offset: 4px; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
caption { text-align: left; font-weight: 600; padding: 0 0 8px; }
th, td { padding: 7px 10px; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; font-weight: 400; }
th:first-child, td:first-child { padding-left: 0; }
thead th { font-weight: 600; border-bottom-color: var(--soft); vertical-align: bottom; }
.lines, .probes { table-layout: fixed; }
.lines th:first-child, .probes th:first-child { width: 38%; }
.differs td { font-weight: 600; }
.differs td small, .differs td .by { font-weight: 400; }
.mark { display: inline-block; font-size: .72rem; line-height: 1.5; padding: 0 .5em;
  border: 1px solid currentColor; border-radius: 1em; color: var(--b); }
.matrix { width: auto; min-width: min(100%, 560px); }
.matrix th, .matrix td { text-align: right; overflow-wrap: normal; white-space: nowrap;
  font-variant-numeric: tabular-nums; padding-left: 14px; }
.matrix thead th { white-space: normal; min-width: 5.6em; }
.matrix th:first-child { text-align: left; padding-left: 0; }
.matrix td[style] { background: rgb(var(--tint-b) / var(--n)); font-weight: 600; }
.matrix.reverse td[style] { background: rgb(var(--tint-a) / var(--n)); }
.zero { color: var(--dot); } .sum { font-weight: 650; }
.names { margin: 0 0 24px; font-size: .92rem; }
.names div { display: grid; grid-template-columns: minmax(6.5em, 10em) 1fr; gap: 12px;
  padding: 5px 0; border-bottom: 1px solid var(--line); }
.names dt { font-weight: 600; overflow-wrap: anywhere; } .names dd { margin: 0; overflow-wrap: anywhere;
  font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .86rem; }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .92em; }
small { display: block; color: var(--soft); font-size: .84rem; line-height: 1.4; }
.by { display: block; font-size: .84rem; }
.category th { padding-top: 22px; font-weight: 650; font-size: 1.02rem;
  border-bottom-color: var(--soft); }
.reached strong { color: var(--b); } .blocked strong { font-weight: 600; }
.none strong { color: var(--soft); font-weight: 400; }
.source { font-style: italic; }
footer { margin-top: 72px; padding-top: 20px; padding-bottom: 56px; color: var(--soft);
  font-size: .88rem; }
footer p { max-width: 60em; margin: 0 0 10px; }
@media (max-width: 560px) { th, td { padding: 6px 6px; } table, .names { font-size: .86rem; }
  .maps { grid-template-columns: 1fr 1fr; gap: 22px 26px; } figure { width: auto; }
  .names div { grid-template-columns: 1fr; gap: 0; }
  .map { width: 100%; } figcaption { flex-wrap: wrap; gap: 0 8px; font-size: .86rem; } }
@media print { body { font-size: 10.5pt; } .probes { font-size: 9pt; } section { margin-top: 26px; } a { color: inherit; }
  .fill, .map, .key, .matrix td { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  .frame { overflow: visible; } tr, .bars > div { break-inside: avoid; }
  h2, h3, caption { break-after: avoid; } thead { display: table-header-group; }
  .maps { gap: 14px 24px; } @page { margin: 16mm; } }
)css";

}  // namespace runner::reach::html
