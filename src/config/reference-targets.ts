import { isIP } from 'node:net';
import { fail, text, type Environment } from './read.ts';
import type { VariableName } from './variables.ts';

/** A host and port that show whether the agent's own network works. `host` is a name or an address without brackets. */
export type ReferenceTarget = { name: string; host: string; port: number };

const maxTargets = 16;

/**
 * Reads a comma-separated list of `host:port`, `[address]:port` and http(s) URLs. Throws FatalError (78) for anything
 * else.
 */
export function referenceTargets(env: Environment, name: VariableName): ReferenceTarget[] {
  const entries = (text(env, name) ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  if (entries.length > maxTargets) fail(`${name} has ${entries.length} targets; the limit is ${maxTargets}`);
  return entries.map((entry) => targetOf(entry) ?? refuse(name, entry));
}

function refuse(name: string, entry: string): never {
  // A URL may contain a password.
  const shown = entry.includes('@') ? 'one of its targets' : `"${entry.slice(0, 100)}"`;
  return fail(`${name}: ${shown} is neither host:port nor an http(s) URL; separate targets with commas`);
}

function targetOf(entry: string): ReferenceTarget | null {
  const isUrl = /^https?:\/\//i.test(entry);
  const url = isUrl && URL.canParse(entry) ? new URL(entry) : null;
  if (url !== null) {
    if (url.username !== '' || url.password !== '') return null;
    const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
    return named(url.hostname.replace(/^\[|\]$/g, ''), port);
  }
  const [, bracketed, plain, portText] = /^(?:\[([^\]]+)\]|([^:[\]/\s@]+)):(\d{1,5})$/.exec(entry) ?? [];
  const port = Number(portText);
  const host = bracketed ?? plain;
  if (isUrl || host === undefined || port < 1 || port > 65_535) return null;
  if (bracketed !== undefined ? isIP(bracketed) !== 6 : !/^[\w.-]+$/.test(host)) return null;
  return named(host, port);
}

function named(host: string, port: number): ReferenceTarget {
  const shown = host.includes(':') ? `[${host}]` : host;
  return { name: `the reference target ${shown}:${port}`, host, port };
}
