/** Writes schemas/checks.schema.json from the schemas of the API; `--check` only reports whether it is up to date (exit 1 if not). */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const compiled = join(root, 'dist', 'service', 'projects', 'file-schema.js');
if (!existsSync(compiled)) {
  process.stderr.write('file-schema: dist/ is missing; run `npm run build` first\n');
  process.exit(2);
}
const { fileSchemaName, fileSchemaText } = await import(compiled);
const file = join(root, 'schemas', fileSchemaName);
const text = fileSchemaText();
const current = existsSync(file) ? readFileSync(file, 'utf8') : '';
if (text === current) {
  process.stderr.write(`file-schema: schemas/${fileSchemaName} is up to date\n`);
} else if (process.argv.includes('--check')) {
  process.stderr.write(
    `file-schema: schemas/${fileSchemaName} is out of date; run \`npm run file-schema\`\n`,
  );
  process.exitCode = 1;
} else {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  process.stderr.write(`file-schema: wrote schemas/${fileSchemaName}\n`);
}
