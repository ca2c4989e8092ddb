import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import { endText, memoryMegabytes } from './child.ts';
import type { FromChild } from '../child/api/messages.ts';
import type { ChildEnd } from '../process/program.ts';

/** Why a setup or teardown script failed, for its author. `name` names the script, as the subject of a sentence. */

const boundText: { readonly [B in NonNullable<ChildEnd['exceeded']>]: string } = {
  memoryBytes: `more than ${memoryMegabytes} MB of memory`,
  cpuSeconds: 'more processor time than it may',
  outputBytes: 'more than 1 MB of output',
  diskBytes: 'more disk space than it may',
  processes: 'more processes than it may',
};

/** Its process ended before it was done. `heapExhausted`: the engine said so before. */
export function endedOf(end: ChildEnd, name: string, heapExhausted: boolean): Reason {
  if (end.exceeded !== null)
    return reasonOf('SCRIPT_KILLED', `${name} was ended: it took ${boundText[end.exceeded]}`);
  if (heapExhausted || end.signal === 'SIGABRT' || end.code === 134) {
    return reasonOf(
      'SCRIPT_KILLED',
      `${name} was ended: it took more than ${memoryMegabytes / 2} MB for its objects`,
    );
  }
  if (end.signal !== null) return reasonOf('SCRIPT_KILLED', `${name} was ended by ${endText(end)}`);
  return reasonOf(
    'SCRIPT_THREW',
    `${name} ended its process (${endText(end)}) before it was done; return from the script instead of process.exit`,
  );
}

/** It threw, or is no script. */
export function failureOf(reply: Extract<FromChild, { kind: 'failed' }>, name: string): Reason {
  const at = reply.at === null ? '' : ` (${reply.at})`;
  const verb = reply.code === 'SCRIPT_THREW' ? 'threw' : 'is not valid:';
  return reasonOf(reply.code, `${name} ${verb} ${reply.message}${at}`);
}
