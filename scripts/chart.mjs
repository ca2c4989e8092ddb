/**
 * node scripts/chart.mjs [--check]: writes the value table in the README of each chart from its values.yaml, where a line `# -- …`
 * above a key describes it. `--check` only reports whether the tables are up to date (exit 1 if not).
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { parse } from 'yaml';
import { readCommandLine } from './command-line.mjs';

const { values: given } = readCommandLine('chart', {
  options: { check: { type: 'boolean', default: false } },
});

const charts = join(dirname(dirname(fileURLToPath(import.meta.url))), 'charts');
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

for (const chart of readdirSync(charts).sort()) {
  const name = `charts/${chart}/README.md`;
  const readme = join(charts, chart, 'README.md');
  const before = readFileSync(readme, 'utf8');
  const [head, rest] = before.split(begin);
  const tail = rest?.split(end)[1];
  if (tail === undefined) throw new Error(`${name} must contain the lines ${begin} and ${end}`);
  const rows = table(readFileSync(join(charts, chart, 'values.yaml'), 'utf8'));
  const made = `${head}${begin}\n\n${rows}\n\n${end}${tail}`;
  const after = await format(made, { ...(await resolveConfig(readme)), parser: 'markdown' });
  if (after === before) continue;
  if (given.check) {
    process.stderr.write(`chart: ${name} is out of date; run node scripts/chart.mjs\n`);
    process.exitCode = 1;
    continue;
  }
  writeFileSync(readme, after);
  process.stderr.write(`chart: wrote ${name}\n`);
}
