/**
 * Writes docs/metrics.md and observability/ (alert rules, dashboard) from the catalogues of metrics; `--check` only says whether they
 * are up to date (exit 1 if not). `--docs URL/` has the rules link to docs elsewhere; `--out DIR` writes them there, and nothing else.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { stringify } from 'yaml';
import { prometheusRule, ruleGroups } from './observability/alerts.mjs';
import { dashboard } from './observability/dashboard.mjs';
import { metricsPage } from './observability/page.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const say = (line) => process.stderr.write(`observability: ${line}\n`);
const made = 'Made by scripts/observability.mjs from the catalogues of metrics; do not edit.';

const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    docs: { type: 'string', default: 'docs/' },
    out: { type: 'string' },
  },
});

const compiled = (path) => pathToFileURL(join(root, 'dist', path)).href;
if (!existsSync(join(root, 'dist', 'agent', 'metrics', 'catalogue.js'))) {
  say('dist/ is missing; run `npm run build` first');
  process.exit(2);
}
const catalogue = {
  ...(await import(compiled('agent/metrics/definition.js'))),
  ...(await import(compiled('agent/metrics/catalogue.js'))),
  ...(await import(compiled('service/analytics/exporter-catalogue.js'))),
};

const yaml = (document) => `# ${made}\n${stringify(document, { lineWidth: 0 })}`;
const files = {
  'observability/location-agent.rules.yaml': yaml(ruleGroups(values)),
  'observability/prometheus-rule.yaml': yaml(prometheusRule(values)),
  'observability/dashboard.json': JSON.stringify(dashboard(catalogue)),
  ...(values.out === undefined ? { 'docs/metrics.md': metricsPage(catalogue) } : {}),
};

for (const [name, text] of Object.entries(files)) {
  const file =
    values.out === undefined
      ? join(root, name)
      : join(resolve(values.out), name.replace('observability/', ''));
  const options = await resolveConfig(join(root, name));
  const formatted = await format(text, { ...options, filepath: name });
  const current = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (formatted === current) continue;
  if (values.check) {
    say(`${name} is not what the catalogues say; run \`npm run observability\``);
    process.exitCode = 1;
    continue;
  }
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, formatted);
  say(`${file} is written`);
}
if (values.check && process.exitCode === undefined)
  say('rules, dashboard and docs/metrics.md are up to date');
