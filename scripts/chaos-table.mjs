/**
 * `node scripts/chaos-table.mjs [FILE]`: writes the table of faults in docs/reliability.md. FILE has the lines that
 * `npm run chaos -- --out FILE` wrote; of several lines of one scenario and mode the last counts. Scenarios and modes
 * that FILE does not name keep their figures. Without FILE, only the list of scenarios is brought up to date.
 * `--page PAGE` names another page.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { format, resolveConfig } from 'prettier';
import { misused, readCommandLine } from './command-line.mjs';

const program = 'chaos-table';
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const marks = ['<!-- chaos-table -->', '<!-- /chaos-table -->'];
const columns = [
  'command',
  'fault',
  'commit',
  'due runs',
  'survived',
  'lost',
  'doubled',
  'missed',
  'errored',
  'alerts',
  'false alerts',
  'violations',
  'measured',
];
const counts = ['seed', 'due', 'lost', 'doubled', 'missed', 'errored', 'alerts', 'falseAlerts'];

/** Ends the program with one line. */
function refuse(mistake) {
  process.stderr.write(`${program}: ${mistake}\n`);
  process.exit(2);
}

/** The figures of a scenario have a row for each mode of the agents. Figures without a mode are of the queue. */
const modes = ['queue', 'assignments'];
const keyOf = (name, mode = 'queue') => `${name} ${mode}`;

/** What `npm run chaos` wrote, by scenario and mode. */
function measured(file) {
  const rows = new Map();
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    refuse(`cannot read ${file} (${error.code}); write it with npm run chaos -- --out ${file}`);
  }
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    let row;
    try {
      row = JSON.parse(line);
    } catch {
      refuse(`${file}, line ${index + 1}: not JSON; write the file with npm run chaos -- --out ${file}`);
    }
    const wrong = counts.find((name) => !Number.isInteger(row?.[name]) || row[name] < 0);
    if (wrong !== undefined) refuse(`${file}, line ${index + 1}: ${wrong} must be a whole number`);
    if (typeof row.name !== 'string' || !Array.isArray(row.violations))
      refuse(`${file}, line ${index + 1}: name must be a text and violations a list`);
    if (!/^[0-9a-f]*\+?$/.test(row.commit ?? ''))
      refuse(`${file}, line ${index + 1}: commit must be the short name of a commit`);
    if (!/^[^\n`<]*$/.test(row.measured ?? ''))
      refuse(`${file}, line ${index + 1}: measured must be one line of plain text`);
    for (const [name, value] of Object.entries(row.variables ?? {}))
      if (!/^CHAOS_[A-Z]+$/.test(name) || !/^[0-9a-z.]+$/.test(value))
        refuse(`${file}, line ${index + 1}: variables must be numbers or small letters of CHAOS_…`);
    rows.set(keyOf(row.name, row.variables?.CHAOS_MODE), row);
  }
  return rows;
}

/** The cells of a row of figures, in the order of the columns after the fault. */
const figuresOf = (row) => [
  row.commit ?? '',
  row.due,
  row.due - row.lost - row.doubled,
  row.lost,
  row.doubled,
  row.missed,
  row.errored,
  row.alerts,
  row.falseAlerts,
  row.violations.length,
  (row.measured ?? '').replaceAll('|', '\\|'),
];

/** The variables that made its figures, as a shell takes them. */
const variablesOf = (row) => Object.entries(row.variables ?? {}).map(([name, value]) => `${name}=${value}`);

/** Command and figures that the page has, by scenario and mode. */
function written(table) {
  const rows = new Map();
  for (const line of table.split('\n')) {
    const [command = '', , ...figures] = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    const name = /npm run chaos -- ([\w-]+)/.exec(command)?.[1];
    const mode = /CHAOS_MODE=([a-z]+)/.exec(command)?.[1];
    // A scenario without figures has an empty row, until there are some.
    if (name !== undefined && figures.some((cell) => cell !== ''))
      rows.set(keyOf(name, mode), { command, figures });
  }
  return rows;
}

async function listOfScenarios() {
  const outfile = join(root, 'build', 'chaos', `table-${process.pid}.mjs`);
  await build({
    stdin: {
      contents: `export { scenarios } from './scenarios/table.ts';`,
      resolveDir: join(root, 'test', 'chaos'),
    },
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'error',
  });
  try {
    return (await import(pathToFileURL(outfile).href)).scenarios;
  } finally {
    rmSync(outfile, { force: true });
  }
}

const { values, positionals } = readCommandLine(program, {
  allowPositionals: true,
  options: { page: { type: 'string', default: join(root, 'docs', 'reliability.md') } },
});
if (positionals.length > 1) misused(program, 'give one FILE at most');

const text = readFileSync(values.page, 'utf8');
const [start, end] = [text.indexOf(marks[0]) + marks[0].length, text.indexOf(marks[1])];
if (start < marks[0].length || end < start) refuse(`${values.page} lacks the lines ${marks.join(' and ')}`);

const known = written(text.slice(start, end));
const rows = positionals[0] === undefined ? new Map() : measured(positionals[0]);
const scenarios = await listOfScenarios();
for (const { name } of rows.values())
  if (!scenarios.some((scenario) => scenario.name === name))
    process.stderr.write(`${program}: there is no scenario ${name}; its line is left out\n`);

const lines = scenarios.flatMap(({ name, about }) => {
  const cells = modes.flatMap((mode) => {
    const row = rows.get(keyOf(name, mode));
    const before = known.get(keyOf(name, mode));
    if (row === undefined) return before === undefined ? [] : [before];
    const words = [...variablesOf(row), 'npm run chaos --', name, '--seed', row.seed];
    return [{ command: `\`${words.join(' ')}\``, figures: figuresOf(row) }];
  });
  if (cells.length === 0) cells.push({ command: `\`npm run chaos -- ${name}\``, figures: figuresOfNone() });
  return cells.map(
    ({ command, figures }) => `| ${[command, about.replaceAll('|', '\\|'), ...figures].join(' | ')} |`,
  );
});
const table = [`| ${columns.join(' | ')} |`, `| ${columns.map(() => '---').join(' | ')} |`, ...lines].join(
  '\n',
);
const page = `${text.slice(0, start)}\n\n${table}\n\n${text.slice(end)}`;
const options = await resolveConfig(join(root, 'docs', 'reliability.md'));
writeFileSync(values.page, await format(page, { ...options, parser: 'markdown' }));

function figuresOfNone() {
  return columns.slice(2).map(() => '');
}
