/** Writes man/location-agent.1 from the table of commands; `--check` only reports whether it is up to date (exit 1 if not). */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const compiled = join(root, 'dist', 'commands', 'line', 'man.js');
if (!existsSync(compiled)) {
  process.stderr.write('man: dist/ is missing; run `npm run build` first\n');
  process.exit(2);
}
const { manPage } = await import(compiled);
const file = join(root, 'man', 'location-agent.1');
const text = manPage();
const current = existsSync(file) ? readFileSync(file, 'utf8') : '';
if (text === current) {
  process.stderr.write('man: man/location-agent.1 is up to date\n');
} else if (process.argv.includes('--check')) {
  process.stderr.write('man: man/location-agent.1 is out of date; run `npm run man`\n');
  process.exitCode = 1;
} else {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  process.stderr.write('man: wrote man/location-agent.1\n');
}
