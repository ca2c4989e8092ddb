import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import { endText, memoryMegabytes } from './child.ts';
import type { FromChild } from '../child/api/messages.ts';
import type { ChildEnd } from '../process/program.ts';

/** Why a setup or teardown script failed, in words for whoever wrote it. `who` names the script, as a subject. */

const boundText: { readonly [B in NonNullable<ChildEnd['exceeded']>]: string } = {
  memoryBytes: `more than ${memoryMegabytes} MB of memory`,
  cpuSeconds: 'more processor time than it may',
  outputBytes: 'more than 1 MB of output',
  diskBytes: 'more disk space than it may',
  processes: 'more processes than it may',
};

/** Its process ended before it was done. `heapExhausted`: the engine said so before. */
export function endedOf(how: ChildEnd, who: string, heapExhausted: boolean): Reason {
  if (how.exceeded !== null)
    return reasonOf('SCRIPT_KILLED', `${who} was ended: it took ${boundText[how.exceeded]}`);
  if (heapExhausted || how.signal === 'SIGABRT' || how.code === 134) {
    return reasonOf(
      'SCRIPT_KILLED',
      `${who} was ended: it took more than ${memoryMegabytes / 2} MB for its objects`,
    );
  }
  if (how.signal !== null) return reasonOf('SCRIPT_KILLED', `${who} was ended by ${endText(how)}`);
  return reasonOf(
    'SCRIPT_THREW',
    `${who} ended its process (${endText(how)}) before it was done; return from the script instead of process.exit`,
  );
}

/** It threw, or is no script. */
export function failureOf(reply: Extract<FromChild, { kind: 'failed' }>, who: string): Reason {
  const at = reply.at === null ? '' : ` (${reply.at})`;
  const verb = reply.code === 'SCRIPT_THREW' ? 'threw' : 'is not valid:';
  return reasonOf(reply.code, `${who} ${verb} ${reply.message}${at}`);
}
