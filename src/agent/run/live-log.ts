import { protocolLimits } from '../../protocol/agent-calls.ts';
import { shortened as cut } from '../../shortened.ts';

/**
 * Lines of a run's log that were not sent yet. They are sent with the lease renewals, so that users can watch a long
 * run. The amount is limited: if lines arrive faster than they can be sent, the oldest are dropped and their number
 * is sent instead. (The complete log is a file of the run.)
 */
export type LiveLog = {
  /** Adds a line of the run's log; it is scrubbed before it is stored. */
  add: (line: string) => void;
  /**
   * Removes and returns lines for one call, at most `chars` characters. Call `putBack` if the call failed: the lines
   * are sent again with the next call if there is still room for them. (If only the answer was lost, the service gets
   * them twice.)
   */
  take: (chars: number) => { lines: string[]; putBack: () => void };
};

/** Maximum size of the stored lines. */
const maxLines = 1000;
const maxChars = 512 * 1024;
/**
 * Characters scrubbed between two calls at most, in about 25 ms: many lines must not distort other jobs'
 * measurements.
 */
const scrubLines = 300;
const scrubChars = 96 * 1024;

/** `scrub` returns the masked form of a line. */
export function createLiveLog(scrub: (line: string) => string): LiveLog {
  /** Lines in order; a number = that many lines were omitted. */
  let kept: (string | number)[] = [];
  let lines = 0;
  let chars = 0;
  let scrubbedLines = 0;
  let scrubbedChars = 0;

  const leaveOut = (at: 'first' | 'last', count: number) => {
    const index = at === 'first' ? 0 : kept.length - 1;
    const neighbour = kept[index];
    if (typeof neighbour === 'number') kept[index] = neighbour + count;
    else if (at === 'first') kept.unshift(count);
    else kept.push(count);
  };
  const makeRoom = () => {
    while (lines > maxLines || chars > maxChars) {
      const before = typeof kept[0] === 'number' ? (kept.shift() as number) : 0; // checked above
      const line = kept.shift();
      if (typeof line === 'string') {
        lines -= 1;
        chars -= line.length;
      }
      leaveOut('first', before + 1);
    }
  };

  return {
    add: (line) => {
      if (scrubbedLines >= scrubLines || scrubbedChars >= scrubChars) return leaveOut('last', 1);
      scrubbedLines += 1;
      scrubbedChars += line.length;
      const clean = shortened(scrub(line));
      kept.push(clean);
      lines += 1;
      chars += clean.length;
      makeRoom();
    },
    take: (limit) => {
      scrubbedLines = scrubbedChars = 0;
      const taken: (string | number)[] = [];
      let left = limit;
      for (let next = kept[0]; next !== undefined && taken.length < protocolLimits.logLines; next = kept[0]) {
        if (typeof next === 'string') {
          if (next.length > left) break;
          left -= next.length;
          lines -= 1;
          chars -= next.length;
        }
        taken.push(next);
        kept.shift();
      }
      return {
        lines: taken.map((each) => (typeof each === 'string' ? each : `… ${each} lines omitted`)),
        putBack: () => {
          kept = [...taken, ...kept];
          for (const each of taken) {
            if (typeof each !== 'string') continue;
            lines += 1;
            chars += each.length;
          }
          makeRoom();
        },
      };
    },
  };
}

function shortened(line: string): string {
  const limit = protocolLimits.logLineChars;
  return line.length <= limit ? line : cut(line, limit - 1);
}
