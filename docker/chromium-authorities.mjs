/**
 * node chromium-authorities.mjs FILE.pem: prints the policy that makes Chromium trust the certificate authorities of a PEM file.
 * Save it in /etc/chromium/policies/managed. Chromium uses neither the system's authorities nor Node's variables.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('usage: node chromium-authorities.mjs FILE.pem');
const texts =
  readFileSync(file, 'utf8').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
if (texts.length === 0)
  throw new Error(`${file} contains no certificate in PEM form; name a PEM file of certificate authorities`);
// Parsing reports a broken certificate here; Chromium would ignore it silently.
const CACertificates = texts.map((text) => new X509Certificate(text).raw.toString('base64'));
process.stdout.write(`${JSON.stringify({ CACertificates })}\n`);
