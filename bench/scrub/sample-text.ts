import { closeSync, openSync, writeSync } from 'node:fs';
import { encodedForms } from '../../src/secrets/forms/forms.ts';
import type { NamedSecret } from '../../src/secrets/scrubber/scrubber.ts';

/** A seeded generator (mulberry32), so that every run uses the same text. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const plain = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const special = `${plain}!$%&/=+?-_.:;#'"<>@ `;

/** Values of 10 to 39 characters, every third with special characters, as passwords and tokens are. */
export function sampleSecrets(count: number, random: () => number): NamedSecret[] {
  return Array.from({ length: count }, (_, i) => {
    const alphabet = i % 3 === 0 ? special : plain;
    const length = 10 + Math.floor(random() * 30);
    // A space at either end would not be part of the value.
    const value = Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)]).join('');
    return { name: `SECRET_${i}`, value: value.replaceAll(/^ | $/g, '_') };
  });
}

const words = (
  'request response status server client header content type length cache control origin accept encoding language user ' +
  'agent session order customer invoice product price total address city country name first last email phone date time ' +
  'created updated deleted error warning info debug trace span duration method path query body json html text image'
).split(' ');

/** One line as in traces, logs and bodies: JSON with words, numbers, ids, URLs, base64 and escapes. */
function line(random: () => number): string {
  const word = (): string => words[Math.floor(random() * words.length)] ?? '';
  const hex = (length: number): string =>
    Array.from({ length }, () => Math.floor(random() * 16).toString(16)).join('');
  const base64 = Buffer.from(Array.from({ length: 60 }, () => Math.floor(random() * 256))).toString('base64');
  return (
    JSON.stringify({
      time: Math.floor(random() * 1e13),
      [word()]: `${word()} ${word()} ${word()} ${word()} ${word()}`,
      id: `${hex(8)}-${hex(4)}-${hex(4)}-${hex(12)}`,
      url: `https://${word()}.example.test/${word()}/${hex(6)}?${word()}=${encodeURIComponent(`${word()} / ${word()}`)}`,
      [word()]: {
        [word()]: Math.round(random() * 1e6) / 1000,
        [word()]: random() < 0.5,
        html: `<p class="${word()}">`,
      },
      body: random() < 0.2 ? base64 : `${word()}\n${word()}\t${word()} é ${word()}`,
    }) + '\n'
  );
}

/** Writes about `bytes` of text to `file`, with a form of one of `secrets` every `every` bytes; returns how many. */
export function writeSample(
  file: string,
  { bytes, every, secrets }: { bytes: number; every: number; secrets: readonly NamedSecret[] },
  random: () => number,
): number {
  const block = Buffer.from(Array.from({ length: 8000 }, () => line(random)).join(''));
  const forms = secrets.map(({ value }) => encodedForms(value));
  const output = openSync(file, 'w', 0o600);
  let written = 0;
  let planted = 0;
  while (written < bytes) {
    const from = Math.floor(random() * (block.length - every));
    written += writeSync(output, block, from, every);
    const some = forms[Math.floor(random() * forms.length)] ?? [];
    const form = some[Math.floor(random() * some.length)] ?? Buffer.alloc(0);
    written += writeSync(output, form);
    planted++;
  }
  closeSync(output);
  return planted;
}
