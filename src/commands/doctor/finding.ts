import { toError } from '../../errors.ts';

/** The finding of one probe. A `problem` must be fixed; a `note` is only information. */
export type Finding = {
  name: string;
  status: 'ok' | 'note' | 'problem';
  message: string;
  /** How to fix it. */
  remedy: string | null;
};

/** Checks one thing and returns what it found; `signal` fires when its time is up. */
export type Probe = { name: string; run: (signal: AbortSignal) => Promise<Omit<Finding, 'name'>> };

export const ok = (message: string): Omit<Finding, 'name'> => ({ status: 'ok', message, remedy: null });
export const note = (message: string, remedy: string | null = null): Omit<Finding, 'name'> => ({
  status: 'note',
  message,
  remedy,
});
export const problem = (message: string, remedy: string): Omit<Finding, 'name'> => ({
  status: 'problem',
  message,
  remedy,
});

/** Runs all probes at once. None takes longer than `limitMs`, and a probe that throws does not hide the others. */
export function runProbes(probes: readonly Probe[], limitMs: number): Promise<Finding[]> {
  return Promise.all(
    probes.map(async ({ name, run }) => {
      const limit = new AbortController();
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<Omit<Finding, 'name'>>((resolve) => {
        timer = setTimeout(() => {
          limit.abort(new Error('the probe took too long'));
          resolve(
            problem(`no answer within ${limitMs / 1000} s`, 'check whether a proxy, firewall or disk hangs'),
          );
        }, limitMs);
      });
      try {
        return { name, ...(await Promise.race([run(limit.signal), late])) };
      } catch (error: unknown) {
        return {
          name,
          ...problem(`the probe failed: ${toError(error).message}`, 'run with LOG_LEVEL=DEBUG'),
        };
      } finally {
        clearTimeout(timer);
      }
    }),
  );
}

const marks = { ok: 'ok', note: 'note', problem: 'PROBLEM' } as const;

/** Findings as an aligned table, each remedy below its finding. */
export function findingsTable(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ name }) => name.length));
  const lines = findings.flatMap(({ name, status, message, remedy }) => [
    `${marks[status].padEnd(8)} ${name.padEnd(width)}  ${message}`,
    ...(remedy === null ? [] : [`${' '.repeat(9 + width)}  → ${remedy}`]),
  ]);
  const problems = findings.filter(({ status }) => status === 'problem').length;
  const close =
    problems === 0 ? 'no problems found' : problems === 1 ? '1 problem found' : `${problems} problems found`;
  return `${lines.join('\n')}\n\n${close}\n`;
}
