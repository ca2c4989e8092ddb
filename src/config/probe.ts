import { resolve } from 'node:path';
import { fail, secret, text, type Environment } from './read.ts';
import type { Secret } from '../secrets/secret.ts';

/** Settings of `/probe`; null = it is off. */
export type ProbeConfig = {
  readonly file: string;
  readonly targets: readonly string[];
  readonly token: Secret | null;
} | null;

const maxTargets = 1000;
const target = /^(?:\*|(?:\*\.)?[\w.-]+|[0-9a-fA-F:.]+(?:\/\d{1,3})?)$/;

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
  const wrong = targets.find((entry) => !target.test(entry));
  if (wrong !== undefined) fail(`PROBE_TARGETS: "${wrong}" is no name, address, network or *`);
  return Object.freeze({ file: resolve(file), targets: Object.freeze(targets), token });
}
