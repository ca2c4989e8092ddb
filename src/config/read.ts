import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { dirname } from 'node:path';
import { exitCodes, FatalError } from '../errors.ts';
import { Secret } from '../secrets/secret.ts';
import { codeOf } from '../system-errors.ts';
import type { AnyCaseName, SecretName, VariableName } from './variables.ts';

/** Readers of environment variables. Each throws FatalError (78) that names the variable and the remedy. */

export type Environment = { readonly [name: string]: string | undefined };

/** A variable of the table, in one of the forms in which it is read. */
export type ReadName = VariableName | `${SecretName}_FILE` | Lowercase<AnyCaseName>;

/** Throws FatalError (78); the message is the summary, a colon and the remedy, in one line. */
export function fail(summary: string, remedy?: string): never {
  const { configuration: exitCode } = exitCodes;
  throw new FatalError(
    'CONFIGURATION',
    inOneLine(summary),
    remedy === undefined ? { exitCode } : { exitCode, remedy: inOneLine(remedy) },
  );
}

/** Messages repeat values, and a value may contain ends of lines or other control characters. */
const inOneLine = (message: string): string =>
  message.replaceAll(
    /[\p{Cc}\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

export function text(env: Environment, name: ReadName): string | null {
  const value = env[name]?.trim();
  return value === undefined || value === '' ? null : value;
}

export function integer(
  env: Environment,
  name: VariableName,
  fallback: number,
  min: number,
  max: number,
): number {
  const value = text(env, name);
  if (value === null) return fallback;
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < min || number > max) {
    fail(`${name} must be a whole number from ${min} to ${max}, but is "${value}"`);
  }
  return number;
}

/** An IP address; null if the variable is not set. */
export function address(env: Environment, name: VariableName): string | null {
  const value = text(env, name);
  if (value === null || isIP(value) !== 0) return value;
  return fail(`${name} must be an IP address of this machine, such as 127.0.0.1`);
}

export function flag<Fallback extends boolean | null>(
  env: Environment,
  name: VariableName,
  fallback: Fallback,
): boolean | Fallback {
  const value = text(env, name)?.toLowerCase();
  if (value === undefined) return fallback;
  if (['1', 'true', 'on', 'yes'].includes(value)) return true;
  if (['0', 'false', 'off', 'no'].includes(value)) return false;
  return fail(`${name} must be true or false, but is "${value}"`);
}

export function oneOf<const Values extends readonly string[]>(
  env: Environment,
  name: VariableName,
  values: Values,
  fallback: Values[number],
): Values[number] {
  const value = text(env, name);
  if (value === null) return fallback;
  return (
    values.find((candidate) => candidate.toLowerCase() === value.toLowerCase()) ??
    fail(`${name} must be one of ${values.join(', ')}, but is "${value}"`)
  );
}

export function url(
  env: Environment,
  name: VariableName,
  fallback: string,
  protocols: readonly string[],
): URL {
  const value = text(env, name) ?? fallback;
  // The message does not repeat the value, because a URL may contain a password.
  const parsed = URL.canParse(value) ? new URL(value) : fail(`${name} is not a URL`);
  if (!protocols.includes(parsed.protocol)) {
    fail(`${name} must begin with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`);
  }
  return parsed;
}

/** How to fix a file that cannot be read if its error code does not show it: broken container mounts. */
const fileRemedies: { readonly [code: string]: string } = {
  EACCES: `: make it readable for this user${process.getuid === undefined ? '' : ` (${process.getuid()})`}`,
  EISDIR: ': it is a folder, not a file; a container engine creates a folder if the file to mount is missing',
};

/** Whether this is the path of a file, and not the secret itself, set in the wrong variable. */
function isPath(value: string): boolean {
  if (!/^(?:\.{0,2}[/\\](?!\/)|[A-Za-z]:[/\\])/.test(value)) return false;
  // A key in Base64 may begin with a slash.
  return (
    existsSync(value) ||
    !/[\w+/=-]{20,}$/.test(value) ||
    (dirname(value) !== '/' && existsSync(dirname(value)))
  );
}

/** The value of NAME, or the first line of the file named by NAME_FILE. */
export function secret(env: Environment, name: SecretName): Secret | null {
  const value = text(env, name);
  const file = text(env, `${name}_FILE`);
  if (value !== null && file !== null) fail(`set ${name} or ${name}_FILE, not both`);
  if (value !== null) return new Secret(value);
  if (file === null) return null;
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    const code = codeOf(error);
    const named = isPath(file)
      ? `${name}_FILE: cannot read ${file}`
      : `${name}_FILE names a file that cannot be read`;
    return fail(`${named} (${code})${fileRemedies[code ?? ''] ?? ''}`);
  }
  const first = content.split(/\r?\n/, 1)[0]?.trim() ?? '';
  return first === '' ? fail(`${name}_FILE: ${file} is empty`) : new Secret(first);
}

const proxySchemes = ['http:', 'https:', 'socks5:', 'socks5h:'];

/** A proxy for management traffic; a bare host and port is an http proxy. */
export function proxyUrl(env: Environment, name: 'HTTP_PROXY' | 'HTTPS_PROXY'): Secret | null {
  const lower = name === 'HTTP_PROXY' ? 'http_proxy' : 'https_proxy';
  const value = text(env, lower) ?? text(env, name);
  if (value === null) return null;
  const withScheme = value.includes('://') ? value : `http://${value}`;
  const parsed = URL.canParse(withScheme) ? new URL(withScheme) : null;
  if (parsed === null || !proxySchemes.includes(parsed.protocol) || parsed.hostname === '') {
    fail(
      `${name} must be a URL like http://user:password@proxy:3128 (http, https, socks5, or socks5h, which resolves names at the proxy)`,
    );
  }
  if (!isDecodable(parsed.username) || !isDecodable(parsed.password)) {
    fail(`${name}: user and password must be percent-encoded (write % as %25)`);
  }
  return new Secret(withScheme);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
