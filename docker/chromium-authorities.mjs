/**
 * node chromium-authorities.mjs FILE.pem: writes the policy with which Chromium trusts the certificate authorities of a PEM file, for
 * /etc/chromium/policies/managed. Chromium asks neither the system nor Node's variables for authorities.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('usage: node chromium-authorities.mjs FILE.pem');
const texts =
  readFileSync(file, 'utf8').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
if (texts.length === 0) throw new Error(`${file} holds no certificate in PEM form`);
// Parsed, so that a broken file is told of here and not by Chromium's silence.
const CACertificates = texts.map((text) => new X509Certificate(text).raw.toString('base64'));
process.stdout.write(`${JSON.stringify({ CACertificates })}\n`);
