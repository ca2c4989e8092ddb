import { readFileSync, statSync } from 'node:fs';
import { FatalError } from '../errors.ts';
import { mask } from '../secrets/secret.ts';
import type { Environment } from './read.ts';
import { secretPrefix, secretVariables } from './variables.ts';

/** So many characters of a secret are masked wherever they are. Fewer are found in ordinary words. */
const shortest = 8;
/** Larger files have no secret. */
const longestFile = 64 * 1024;

/**
 * Runs a reader of variables. Its error repeats values, and a secret may have been pasted into another variable as well:
 * each part of it is masked, in upper or lower case.
 */
export function withMaskedMessages<Config>(env: Environment, read: () => Config): Config {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof FatalError)) throw error;
    const { code, exitCode, message } = error;
    const secrets = secretsOf(env);
    if (maskedIn(message, secrets) === message) throw error;
    const remedy = error.remedy === null ? {} : { remedy: maskedIn(error.remedy, secrets) };
    throw new FatalError(code, maskedIn(error.summary, secrets), { exitCode, ...remedy });
  }
}

/** `text` with a mask in place of each part that has at least `shortest` characters of a secret in a row. */
function maskedIn(text: string, secrets: readonly string[]): string {
  const lower = lowered(text);
  const hidden = new Set<number>();
  const parts = new Set<string>();
  for (const secret of secrets)
    for (let at = 0; at + shortest <= secret.length; at++) parts.add(secret.slice(at, at + shortest));
  for (let at = 0; at + shortest <= lower.length; at++) {
    if (!parts.has(lower.slice(at, at + shortest))) continue;
    for (let index = at; index < at + shortest; index++) hidden.add(index);
  }
  if (hidden.size === 0) return text;
  let shown = '';
  for (let at = 0; at < text.length; at++) {
    if (!hidden.has(at)) shown += text[at] ?? '';
    else if (!hidden.has(at - 1)) shown += mask;
  }
  return shown;
}

/** ASCII only: other letters may become two. */
const lowered = (text: string): string => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());

/** URLs whose user and password are secret, and whose address is not. */
const withAddress = /^(?:DATABASE_URL|SMTP_URL|https?_proxy)$/i;

/** Values of secret variables and of the files that they name, and user and password of URLs; in lower case. */
function secretsOf(env: Environment): string[] {
  const names: readonly string[] = secretVariables;
  return Object.entries(env).flatMap(([name, value = '']) => {
    const base = name.replace(/_FILE$/, '');
    const isFile = base !== name && names.includes(base);
    const isSecret = isFile || names.includes(name) || name.startsWith(secretPrefix);
    const content = isFile ? contentOf(value.trim()) : value;
    if (!withAddress.test(base)) return isSecret ? lines(content) : [];
    // A proxy may be a host and port without a scheme.
    const url = content.includes('://') ? content : `http://${content}`;
    return URL.canParse(url) ? lines(credentialsOf(new URL(url))) : [];
  });
}

/** Messages have the characters between two lines in another form. */
const lines = (text: string): string[] =>
  lowered(text)
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line.length >= shortest);

function credentialsOf({ username, password }: URL): string {
  const written = `${username}\n${password}`;
  try {
    return `${written}\n${decodeURIComponent(written)}`;
  } catch {
    return written;
  }
}

/** Empty if there is none: then the file is the subject of the message. A pipe that was read once may never answer again. */
function contentOf(path: string): string {
  try {
    const file = statSync(path);
    return file.isFile() && file.size <= longestFile
      ? (readFileSync(path, 'utf8').split('\n', 1)[0] ?? '')
      : '';
  } catch {
    return '';
  }
}
