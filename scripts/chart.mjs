/**
 * node scripts/chart.mjs [--check]: writes the value table in charts/agent/README.md from values.yaml, where a line `# -- …` above
 * a key describes it. `--check` only reports whether the table is up to date (exit 1 if not).
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { parse } from 'yaml';
import { readCommandLine } from './command-line.mjs';

const { values: given } = readCommandLine('chart', {
  options: { check: { type: 'boolean', default: false } },
});

const folder = join(dirname(dirname(fileURLToPath(import.meta.url))), 'charts', 'agent');
const readme = join(folder, 'README.md');
const [begin, end] = ['<!-- values: begin -->', '<!-- values: end -->'];
/** The table refers to values.yaml for longer defaults. */
const longestDefault = 60;

/** Returns the documented keys of a values file, in order: [{path: ['a', 'b'], meaning}]. */
function documentedValues(text) {
  const found = [];
  /** Parent keys of the current line, with their indentation. */
  let above = [];
  let meaning = null;
  for (const line of text.split('\n')) {
    const comment = /^\s*# ?(?<first>-- )?(?<rest>.*)$/.exec(line)?.groups;
    if (comment !== undefined) {
      if (comment.first !== undefined) meaning = comment.rest;
      else if (meaning !== null) meaning += ` ${comment.rest}`;
      continue;
    }
    const key = /^(?<indent> *)(?<name>[A-Za-z]\w*):/.exec(line)?.groups;
    if (key === undefined) continue;
    above = [
      ...above.filter(({ indent }) => indent < key.indent.length),
      { indent: key.indent.length, name: key.name },
    ];
    if (meaning !== null) found.push({ path: above.map(({ name }) => name), meaning });
    meaning = null;
  }
  return found;
}

function table(text) {
  const values = parse(text);
  const rows = documentedValues(text).map(({ path, meaning }) => {
    const value = path.reduce((at, name) => at[name], values);
    const shown = JSON.stringify(value);
    const fallback = shown === '""' ? '' : shown.length > longestDefault ? 'see values.yaml' : `\`${shown}\``;
    return `| \`${path.join('.')}\` | ${fallback} | ${meaning.replaceAll('|', '\\|')} |`;
  });
  return ['| value | default | meaning |', '| --- | --- | --- |', ...rows].join('\n');
}

const before = readFileSync(readme, 'utf8');
const [head, rest] = before.split(begin);
const tail = rest?.split(end)[1];
if (tail === undefined) throw new Error(`${readme} must contain the lines ${begin} and ${end}`);
const made = `${head}${begin}\n\n${table(readFileSync(join(folder, 'values.yaml'), 'utf8'))}\n\n${end}${tail}`;
const after = await format(made, { ...(await resolveConfig(readme)), parser: 'markdown' });
if (after === before) process.exit(0);
if (given.check) {
  process.stderr.write('chart: charts/agent/README.md is out of date; run node scripts/chart.mjs\n');
  process.exit(1);
}
writeFileSync(readme, after);
process.stderr.write('chart: wrote charts/agent/README.md\n');
