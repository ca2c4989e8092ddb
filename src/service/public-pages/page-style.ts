import { darkColours, lightColours } from '../pages/style.ts';

/** What status pages have beyond the style sheet of all pages. */
export const statusCss = `
:root[data-theme="light"] { color-scheme: light; ${lightColours} }
:root[data-theme="dark"] { color-scheme: dark; ${darkColours} }
body { max-width: 860px; padding-top: 36px; overflow-wrap: anywhere; }
a { color: var(--accent); }
header { align-items: center; margin-bottom: 20px; }
header img { display: block; max-height: 44px; max-width: 220px; }
header a { color: inherit; text-decoration: none; }
header .lead { flex-basis: 100%; font-size: 15px; white-space: pre-wrap; }
h1 { font-size: 26px; }
h2 { font-size: 17px; margin: 0 0 10px; }
h3 { font-size: 15px; margin: 0; }
section { margin-bottom: 30px; }
.banner { display: flex; align-items: center; gap: 12px; padding: 16px 18px; margin: 0 0 30px; font-size: 18px; font-weight: 650; border: 1px solid var(--line); border-left: 6px solid var(--colour); border-radius: 11px; background: var(--card); }
.dot { flex: none; width: 11px; height: 11px; border-radius: 50%; background: var(--colour); }
.operational { --colour: var(--passed); } .maintenance { --colour: var(--accent); } .minor { --colour: var(--degraded); }
.medium { --colour: var(--degraded); } .major { --colour: var(--failed); } .critical { --colour: var(--failed); }
.panel { background: var(--card); border: 1px solid var(--line); border-radius: 11px; padding: 4px 18px; margin: 0 0 14px; list-style: none; }
.panel > li { padding: 12px 0; border-top: 1px solid var(--line); } .panel > li:first-child { border-top: 0; }
.service { display: flex; justify-content: space-between; align-items: center; gap: 14px; font-weight: 600; }
.state { display: inline-flex; align-items: center; gap: 8px; font-weight: 400; font-size: 14px; white-space: nowrap; }
svg.days { display: block; width: 100%; height: 26px; margin-top: 8px; }
svg.days rect { fill: var(--colour); } svg.days .operational { opacity: 0.55; }
.scale { display: flex; justify-content: space-between; }
.incident { background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--colour); border-radius: 11px; padding: 14px 18px; margin-bottom: 14px; }
.incident p { margin: 4px 0 0; }
.updates { list-style: none; margin: 12px 0 0; padding: 0; }
.updates > li { padding: 8px 0 8px 14px; border-left: 2px solid var(--line); }
.updates p { white-space: pre-wrap; }
details > summary { cursor: pointer; color: var(--soft); font-size: 14px; margin-top: 10px; }
.subscribe { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.subscribe input { flex: 1 1 220px; min-width: 0; }
footer { color: var(--soft); font-size: 13px; border-top: 1px solid var(--line); padding-top: 14px; }
`;
