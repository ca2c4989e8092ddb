import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import { endText, memoryMegabytes } from './child.ts';
import type { FromChild } from '../child/api/messages.ts';
import type { ChildEnd } from '../process/program.ts';

/**
 * The reason why a setup or teardown script failed, for its author. `name` names the script, as the subject of a
 * sentence.
 */

const boundText: { readonly [B in NonNullable<ChildEnd['exceeded']>]: string } = {
  memoryBytes: `more than ${memoryMegabytes} MB of memory`,
  cpuSeconds: 'more processor time than allowed',
  outputBytes: 'more than 1 MB of output',
  diskBytes: 'more disk space than allowed',
  processes: 'more processes than allowed',
};

/** For a script whose process ended before the script did. `heapExhausted`: the engine reported it before. */
export function endedOf(end: ChildEnd, name: string, heapExhausted: boolean): Reason {
  if (end.exceeded !== null)
    return reasonOf('SCRIPT_KILLED', `${name} was killed: it used ${boundText[end.exceeded]}`);
  if (heapExhausted || end.signal === 'SIGABRT' || end.code === 134) {
    return reasonOf(
      'SCRIPT_KILLED',
      `${name} was killed: its objects used more than ${memoryMegabytes / 2} MB`,
    );
  }
  if (end.signal !== null) return reasonOf('SCRIPT_KILLED', `${name} was killed by ${endText(end)}`);
  return reasonOf(
    'SCRIPT_THREW',
    `${name} exited (${endText(end)}) before it was finished; return from the script instead of calling process.exit`,
  );
}

/** For a script that threw, or that is not valid. */
export function failureOf(reply: Extract<FromChild, { kind: 'failed' }>, name: string): Reason {
  const at = reply.at === null ? '' : ` (${reply.at})`;
  const verb = reply.code === 'SCRIPT_THREW' ? 'threw' : 'is not valid:';
  return reasonOf(reply.code, `${name} ${verb} ${reply.message}${at}`);
}
