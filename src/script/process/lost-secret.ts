import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import { bounds } from '../child/capture/format.ts';

/** Secrets of a run that are read: one more than the agent takes, so that it sees that there are too many. */
export const mostSecrets = 5001;

/**
 * Why the texts of a run of browser tests are withheld: a secret that the agent does not know cannot be masked. `limit`
 * comes from the run's processes, where customer code runs.
 */
export function lostSecretText(limit: unknown): string {
  if (limit === 'length') {
    return `a test registered a secret of more than ${bounds.secretLength / 1024} KiB`;
  }
  if (limit === 'count') return `a test process registered more than ${bounds.secrets} secrets`;
  return 'the tests recorded too much for all of their secrets to be read';
}

/** The reason of such a run. */
export function lostSecretReason(why: string): Reason {
  return reasonOf('SCRIPT_KILLED', `The run was stopped: ${why}.`);
}
