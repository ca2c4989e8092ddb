import { readFileSync } from 'node:fs';

/** The package's version. package.json is one folder up from both src/ and dist/. */
export const version: string = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
) // our own file
.version;
