/** Writes docs/openapi.json from the routes' own schemas; `--check` only reports whether it is up to date (exit 1 if not). */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const compiled = join(root, 'dist', 'service', 'openapi-document.js');
if (!existsSync(compiled)) {
  process.stderr.write('openapi: dist/ is missing; run `npm run build` first\n');
  process.exit(2);
}
const { openApiText } = await import(compiled);
const file = join(root, 'docs', 'openapi.json');
const text = await openApiText();
const current = existsSync(file) ? readFileSync(file, 'utf8') : '';
if (text === current) {
  process.stderr.write('openapi: docs/openapi.json is up to date\n');
} else if (process.argv.includes('--check')) {
  process.stderr.write('openapi: docs/openapi.json is out of date; run `npm run openapi`\n');
  process.exitCode = 1;
} else {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  process.stderr.write('openapi: wrote docs/openapi.json\n');
}
