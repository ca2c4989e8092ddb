import { milliseconds } from '../base/words.ts';
import { setQuery } from '../base/router.ts';
import { Status } from '../parts/status.tsx';
import { Part, Scroll } from './part.tsx';
import type { Run } from './types.ts';

const rows = ['dns', 'connect', 'tunnel', 'tls', 'firstByte', 'download', 'remainder', 'total'] as const;

/** The attempts of one run next to each other. */
export function Attempts({ runs, current }: { runs: readonly Run[]; current: string }) {
  if (runs.length < 2) return null;
  const phases = rows.filter((name) => runs.some(({ timings }) => (timings?.[name] ?? 0) > 0));
  return (
    <Part title="Attempts">
      <Scroll label="Attempts side by side">
        <table aria-label="Attempts">
          <thead>
            <tr>
              <th scope="col">Attempt</th>
              {runs.map(({ id, attempts }) => (
                <th key={id} scope="col">
                  <a
                    href={`?attempt=${id}`}
                    aria-current={id === current ? 'page' : undefined}
                    onClick={(event) => {
                      event.preventDefault();
                      setQuery({ attempt: id });
                    }}
                  >
                    {attempts + 1}
                  </a>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row">Status</th>
              {runs.map(({ id, status }) => (
                <td key={id}>
                  <Status status={status} />
                </td>
              ))}
            </tr>
            <tr>
              <th scope="row">Reason</th>
              {runs.map(({ id, reason }) => (
                <td key={id} class="break">
                  {reason?.message ?? '–'}
                </td>
              ))}
            </tr>
            <tr>
              <th scope="row">Duration</th>
              {runs.map(({ id, responseTime }) => (
                <td key={id}>{milliseconds(responseTime)}</td>
              ))}
            </tr>
            {phases.map((phase) => (
              <tr key={phase}>
                <th scope="row">{phase}</th>
                {runs.map(({ id, timings }) => (
                  <td key={id}>{milliseconds(timings?.[phase])}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Part>
  );
}
