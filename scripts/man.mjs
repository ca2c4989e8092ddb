/**
 * Writes man/location-agent.1, docs/commands.md and docs/commands/checks-as-code.md from the table of commands; `--check` only reports whether they are up to date
 * (exit 1 if not).
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { commandPages } from './docs/commands-page.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const line = join(root, 'dist', 'commands', 'line');
if (!existsSync(join(line, 'man.js'))) {
  process.stderr.write('man: dist/ is missing; run `npm run build` first\n');
  process.exit(2);
}
const compiled = (name) => import(pathToFileURL(join(line, name)).href);
const { manPage } = await compiled('man.js');
const pages = commandPages({ ...(await compiled('table.js')), ...(await compiled('spec.js')) });
const options = await resolveConfig(join(root, 'docs', 'commands.md'));
const files = { 'man/location-agent.1': manPage() };
for (const [name, page] of Object.entries(pages))
  files[name] = await format(page, { ...options, parser: 'markdown' });
for (const [name, text] of Object.entries(files)) {
  const file = join(root, name);
  const current = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (text === current) {
    process.stderr.write(`man: ${name} is up to date\n`);
  } else if (process.argv.includes('--check')) {
    process.stderr.write(`man: ${name} is out of date; run \`npm run man\`\n`);
    process.exitCode = 1;
  } else {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    process.stderr.write(`man: wrote ${name}\n`);
  }
}
