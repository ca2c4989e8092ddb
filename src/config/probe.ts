import { resolve } from 'node:path';
import { parseNetworkEntry } from '../addresses/network-entry.ts';
import { FatalError, toError } from '../errors.ts';
import { fail, secret, text, type Environment } from './read.ts';
import type { Secret } from '../secrets/secret.ts';

/** Settings of `/probe`; null = it is off. */
export type ProbeConfig = {
  readonly file: string;
  readonly targets: readonly string[];
  readonly token: Secret | null;
} | null;

const maxTargets = 1000;
/** Reads PROBE_CONFIG, PROBE_TARGETS and PROBE_TOKEN. Throws FatalError (78). */
export function probeConfig(env: Environment): ProbeConfig {
  const file = text(env, 'PROBE_CONFIG');
  const token = secret(env, 'PROBE_TOKEN');
  const list = text(env, 'PROBE_TARGETS');
  if (file === null) return null;
  if (list === null)
    fail(
      'PROBE_CONFIG needs PROBE_TARGETS',
      'list the names and networks that /probe may reach, such as *.example.com, 10.0.0.0/8',
    );
  const targets = list
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  if (targets.length > maxTargets) fail(`PROBE_TARGETS must have at most ${maxTargets} entries`);
  for (const entry of targets) checkTarget(entry);
  return Object.freeze({ file: resolve(file), targets: Object.freeze(targets), token });
}

function checkTarget(entry: string): void {
  if (entry.includes(':') || entry.includes('/') || /^[\d.]+$/.test(entry)) {
    try {
      const { firstPort, lastPort } = parseNetworkEntry(entry);
      if (firstPort !== 0 || lastPort !== 65_535) fail(`PROBE_TARGETS: "${entry}" must not have a port`);
    } catch (error: unknown) {
      if (error instanceof FatalError) throw error;
      fail(`PROBE_TARGETS: ${toError(error).message}`);
    }
  } else if (!/^(?:\*|(?:\*\.)?[\w.-]+)$/.test(entry)) {
    fail(`PROBE_TARGETS: "${entry}" is no name, address, network or *`);
  }
}
