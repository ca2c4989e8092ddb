/**
 * Writes schemas/checks.schema.json and schemas/resources.d.ts from the schemas of the API; `--check` only reports whether they are
 * up to date (exit 1 if not).
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const compiled = (name) => join(root, 'dist', 'service', 'projects', 'files', `${name}.js`);
if (!existsSync(compiled('file-types'))) {
  process.stderr.write('file-schema: dist/ is missing; run `npm run build` first\n');
  process.exit(2);
}
const { fileSchemaName, fileSchemaText } = await import(compiled('file-schema'));
const { fileTypesName, fileTypesText } = await import(compiled('file-types'));
for (const [name, text] of [
  [fileSchemaName, fileSchemaText()],
  [fileTypesName, fileTypesText()],
]) {
  const file = join(root, 'schemas', name);
  const current = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (text === current) {
    process.stderr.write(`file-schema: schemas/${name} is up to date\n`);
  } else if (process.argv.includes('--check')) {
    process.stderr.write(`file-schema: schemas/${name} is out of date; run \`npm run file-schema\`\n`);
    process.exitCode = 1;
  } else {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    process.stderr.write(`file-schema: wrote schemas/${name}\n`);
  }
}
