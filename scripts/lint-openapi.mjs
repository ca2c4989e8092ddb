/**
 * Checks docs/openapi.json with the recommended rules of Redocly and of Spectral, two common linters of OpenAPI
 * documents. Every finding fails it (exit 1), also what they call a warning.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createConfig, lintFromString } from '@redocly/openapi-core';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const file = join(root, 'docs', 'openapi.json');
const text = readFileSync(file, 'utf8');

/** Rules that are switched off, each with its reason. */
const off = {
  // The specification of the API gives paths like /v1/status-pages/services/{id} next to /v1/status-pages/{id}/…. The
  // service matches fixed parts first, as OpenAPI says.
  'no-ambiguous-paths': 'off',
};

const config = await createConfig({ extends: ['recommended'], rules: off });
const redocly = await lintFromString({ source: text, absoluteRef: file, config });
const findings = redocly.map(
  ({ ruleId, message, location }) => `Redocly ${ruleId}: ${message} (${location[0]?.pointer ?? ''})`,
);

// CommonJS packages.
const require = createRequire(import.meta.url);
const { Spectral } = require('@stoplight/spectral-core');
const { oas } = require('@stoplight/spectral-rulesets');
const spectral = new Spectral();
spectral.setRuleset({ extends: [oas] });
for (const { code, message, path } of await spectral.run(JSON.parse(text)))
  findings.push(`Spectral ${code}: ${message} (${path.join('/')})`);

for (const finding of findings.slice(0, 50)) process.stderr.write(`lint-openapi: ${finding}\n`);
process.stderr.write(
  findings.length === 0
    ? 'lint-openapi: docs/openapi.json has no findings\n'
    : `lint-openapi: ${findings.length} findings\n`,
);
if (findings.length > 0) process.exitCode = 1;
