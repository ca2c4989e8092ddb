/** Of all pages. */
export const lightColours = `--back: #f6f7f9; --card: #ffffff; --line: #dfe3e8; --text: #17202b; --soft: #5b6775;
  --accent: #2459c4; --passed: #178a4c; --degraded: #b26a00; --failed: #c62f36; --errored: #7b46c2; --idle: #8a94a0;`;
export const darkColours = `--back: #11151b; --card: #191f27; --line: #2c3541; --text: #e6eaf0; --soft: #9aa7b6;
  --accent: #7ba7ff; --passed: #3fbf7a; --degraded: #e5a336; --failed: #f0666c; --errored: #b18af0; --idle: #75818f;`;

/** The page's style sheet, light and dark. */
export const pageCss = `
:root {
  color-scheme: light dark;
  ${lightColours}
}
@media (prefers-color-scheme: dark) {
  :root {
    ${darkColours}
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body {
  margin: 0 auto; padding: 20px 24px 48px; max-width: 1180px; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
header { display: flex; align-items: baseline; gap: 14px; flex-wrap: wrap; margin-bottom: 16px; }
header p { margin: 0; color: var(--soft); font-size: 13px; }
header #updated { margin-left: auto; }
h1 { font-size: 22px; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 16px; margin: 0; }
section { margin-bottom: 24px; }
button, input {
  font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 7px; padding: 6px 11px;
}
button { cursor: pointer; }
button:hover:not(:disabled) { border-color: var(--accent); }
button:disabled { opacity: 0.45; cursor: default; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.notice { background: var(--card); border: 1px solid var(--failed); border-radius: 9px; padding: 10px 14px; }
#ask { background: var(--card); border: 1px solid var(--line); border-radius: 11px; padding: 22px; max-width: 520px; margin: 8vh auto; }
#ask p { color: var(--soft); }
.row { display: flex; gap: 8px; align-items: center; }
.row input { flex: 1; min-width: 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 12px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 11px; padding: 12px 16px; border-top: 3px solid var(--idle); }
.tile b { display: block; font-size: 26px; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13px; }
.tile.passed { border-top-color: var(--passed); } .tile.degraded { border-top-color: var(--degraded); }
.tile.failed { border-top-color: var(--failed); } .tile.errored { border-top-color: var(--errored); }
.bar { display: flex; align-items: center; justify-content: space-between; gap: 12px; margin-bottom: 8px; }
.bar input { width: 290px; max-width: 60%; }
.scroll { background: var(--card); border: 1px solid var(--line); border-radius: 11px; overflow-x: auto; }
table { width: 100%; border-collapse: collapse; }
th { text-align: left; font-size: 12px; font-weight: 600; color: var(--soft); padding: 9px 14px; border-bottom: 1px solid var(--line); white-space: nowrap; }
td { padding: 10px 14px; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child > td { border-bottom: 0; }
.num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.name { background: none; border: 0; padding: 0; font-weight: 600; text-align: left; }
.name:hover { color: var(--accent); }
.soft { color: var(--soft); font-size: 13px; }
.reason { font-size: 13px; max-width: 440px; overflow-wrap: anywhere; }
.status { display: inline-flex; align-items: center; gap: 7px; font-weight: 600; font-size: 13px; white-space: nowrap; }
.status::before { content: ""; width: 9px; height: 9px; border-radius: 50%; background: var(--idle); }
.status.passed { color: var(--passed); } .status.passed::before { background: var(--passed); }
.status.degraded { color: var(--degraded); } .status.degraded::before { background: var(--degraded); }
.status.failed { color: var(--failed); } .status.failed::before { background: var(--failed); }
.status.errored { color: var(--errored); } .status.errored::before { background: var(--errored); }
.status.idle { color: var(--soft); }
.chip { display: inline-block; border: 1px solid var(--line); border-radius: 5px; padding: 0 6px; font-size: 12px; color: var(--soft); margin-right: 5px; }
svg.runs { display: block; width: 164px; height: 30px; }
svg .passed { fill: var(--passed); } svg .degraded { fill: var(--degraded); } svg .failed { fill: var(--failed); }
svg .errored { fill: var(--errored); } svg .idle { fill: var(--idle); }
.graphs { display: flex; flex-wrap: wrap; gap: 12px 28px; padding: 6px 14px 10px; }
.graphs figure { margin: 0; flex: 1 1 300px; max-width: 480px; }
.graphs figcaption { font-size: 13px; font-weight: 600; margin-bottom: 4px; }
.graphs figcaption .soft { font-weight: 400; }
svg.graph { display: block; width: 100%; height: auto; border-bottom: 1px solid var(--line); }
.numbers { flex-wrap: wrap; gap: 4px 16px; }
.runs-table td { padding: 5px 14px; font-size: 13px; }
.detail > td { background: var(--back); padding: 6px 0; }
.run-detail > td { background: var(--back); padding: 4px 14px 16px; }
.part { margin-top: 12px; }
.part h3 { font-size: 13px; margin: 0 0 4px; }
.part ul { list-style: none; margin: 0; padding-left: 16px; border-left: 1px solid var(--line); }
.part summary { cursor: pointer; color: var(--soft); font-size: 13px; }
.running { padding: 0 14px 8px; }
.part pre { margin: 2px 0 6px; max-width: 100%; max-height: 320px; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 12px; }
.line { display: flex; gap: 10px; align-items: baseline; font-size: 13px; overflow-wrap: anywhere; }
.pages { display: flex; gap: 12px; align-items: center; justify-content: flex-end; margin-top: 10px; }
.empty { color: var(--soft); text-align: center; padding: 26px; }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
@media (max-width: 760px) { body { padding: 14px 12px 32px; } .wide { display: none; } svg.runs { width: 92px; } .bar input { min-width: 0; } td, th { padding-left: 10px; padding-right: 10px; } }
`;
