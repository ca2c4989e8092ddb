import { get, send } from '../base/service.ts';
import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import { withoutColours } from '../base/outside.ts';
import { useMay } from '../base/user.ts';
import { elapsed } from '../base/words.ts';
import { Button } from '../parts/button.tsx';
import { sayFailed } from '../parts/messages.tsx';

type ActiveRun = {
  readonly sequenceId: string;
  readonly runLocation: string;
  readonly isScheduled: boolean;
  readonly state: string;
  readonly stage: string | null;
  readonly elapsedMs: number;
  readonly cancelRequested: boolean;
  readonly cancelPath: string | null;
  readonly log: readonly string[];
};

/** Runs that have no result yet: what they do, their last lines, and a button that cancels them. */
export function ActiveRuns({ checkId }: { checkId: string }) {
  const mayCancel = useMay('READ_RUN');
  const active = useLoad(`active ${checkId}`, (signal) =>
    get<{ runs: ActiveRun[] }>(`/v1/checks/${checkId}/active-runs`, signal),
  );
  useReloadOn(['job', 'run'], active.reload, { checkId, everyMs: 700 });
  const runs = active.value?.runs ?? [];
  if (runs.length === 0) return null;
  const cancel = (run: ActiveRun) =>
    send('POST', run.cancelPath ?? '', { sequenceId: [run.sequenceId] }).then(active.reload, sayFailed);
  return (
    <section class="card" aria-label="Running now">
      <h2>Running now</h2>
      <ul class="tests">
        {runs.map((run) => (
          <li key={run.sequenceId}>
            <div class="test-line">
              <b>{run.stage ?? (run.state === 'running' ? 'running' : 'waiting for an agent')}</b>
              <span>
                {run.runLocation}
                {!run.isScheduled && ', requested'}
              </span>
              <span class="number soft">{elapsed(run.elapsedMs)}</span>
              {mayCancel && run.cancelPath !== null && (
                <Button isOff={run.cancelRequested} onClick={() => void cancel(run)}>
                  {run.cancelRequested ? 'Being cancelled' : 'Cancel'}
                </Button>
              )}
            </div>
            {run.log.length > 0 && (
              <pre class="body" tabIndex={0} aria-label={`Log of the run in ${run.runLocation}`}>
                {withoutColours(run.log.join('\n'))}
              </pre>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
