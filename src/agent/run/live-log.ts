import { protocolLimits } from '../../protocol/agent-calls.ts';

/**
 * Lines of a run's log that the service has not heard yet: they ride along with the renewals of its lease, so that somebody
 * can watch a long run. Bounded: of what comes faster than it can be told, the oldest goes, and its number is told instead.
 * (The whole log is a file of the run.)
 */
export type LiveLog = {
  /** Takes a line of the run's log; it is scrubbed before it is kept. */
  add: (line: string) => void;
  /**
   * Takes out what one call may carry, of at most `chars` characters. `putBack` is for a call that failed: the lines come
   * again with the next, should there still be room for them. (Where only the answer was lost, the service hears them twice.)
   */
  take: (chars: number) => { lines: string[]; putBack: () => void };
};

/** What is kept at most. */
const maxLines = 1000;
const maxChars = 512 * 1024;
/** What is scrubbed at most between two calls, in some 25 ms: a flood of lines must not bend what other jobs measure. */
const scrubLines = 300;
const scrubChars = 96 * 1024;

/** `scrub` makes of a line what may leave. */
export function createLiveLog(scrub: (line: string) => string): LiveLog {
  /** Lines in order; a number = so many are left out here. */
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
      const before = typeof kept[0] === 'number' ? (kept.shift() as number) : 0; // just looked at
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
    take: (most) => {
      scrubbedLines = scrubbedChars = 0;
      const taken: (string | number)[] = [];
      let left = most;
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
        lines: taken.map((each) => (typeof each === 'string' ? each : `… ${each} lines left out`)),
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
  const most = protocolLimits.logLineChars;
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}
