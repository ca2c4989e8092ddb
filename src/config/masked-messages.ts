import { FatalError } from '../errors.ts';
import { mask } from '../secrets/secret.ts';
import type { Environment } from './read.ts';
import { secretPrefix, secretVariables } from './variables.ts';

/** Shorter values are found in ordinary words. */
const shortest = 8;

/**
 * Runs a reader of variables. Its error repeats values, and a secret may have been pasted into another variable as well:
 * it is masked.
 */
export function withMaskedMessages<Config>(env: Environment, read: () => Config): Config {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof FatalError)) throw error;
    const secrets = secretsOf(env);
    const masked = (text: string) => secrets.reduce((rest, secret) => rest.replaceAll(secret, mask), text);
    if (masked(error.message) === error.message) throw error;
    const { code, exitCode, remedy } = error;
    throw new FatalError(
      code,
      masked(error.summary),
      remedy === null ? { exitCode } : { exitCode, remedy: masked(remedy) },
    );
  }
}

/** The longest first: one may contain another. */
function secretsOf(env: Environment): string[] {
  const names: readonly string[] = secretVariables;
  return Object.entries(env)
    .filter(([name]) => names.includes(name) || name.startsWith(secretPrefix))
    .map(([, value]) => value?.trim() ?? '')
    .filter((value) => value.length >= shortest)
    .sort((a, b) => b.length - a.length);
}
