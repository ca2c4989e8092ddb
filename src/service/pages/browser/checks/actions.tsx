import { useEffect, useRef, useState } from 'preact/hooks';
import { useLive } from '../base/live.ts';
import { go } from '../base/router.ts';
import { get, send } from '../base/service.ts';
import { useMay } from '../base/user.ts';
import { Button } from '../parts/button.tsx';
import { ask } from '../parts/dialog.tsx';
import { sayDone, sayFailed } from '../parts/messages.tsx';
import { Status } from '../parts/status.tsx';
import type { Check } from './types.ts';

type Session = {
  readonly checkSessionId: string;
  readonly status: string;
  readonly results: readonly { checkResultId: string; runLocation: string; resultType: string }[];
  readonly inProgress: readonly { runLocation?: string; stage?: string | null }[];
};

/** The buttons that this user may press. */
export function Actions({ check, reload }: { check: Check; reload: () => void }) {
  const mayRun = useMay('READ_RUN');
  const mayWrite = useMay('READ_WRITE');
  const [isBusy, setBusy] = useState(false);
  const [sessionId, setSession] = useState<string | null>(null);
  const isRunnable = check.checkType !== 'HEARTBEAT';
  const guarded = async (work: () => Promise<void>) => {
    setBusy(true);
    await work().catch(sayFailed);
    setBusy(false);
  };
  const change = (fields: object, done: string) =>
    guarded(async () => {
      await send('PUT', pathOf(check), fields);
      reload();
      sayDone(done);
    });
  const run = () =>
    guarded(async () => {
      const { sessions } = await send<{ sessions: Session[] }>('POST', '/v2/check-sessions/trigger', {
        target: { checkId: [check.id] },
      });
      const [session] = sessions;
      if (session === undefined) throw new Error('No run was started: the check has no location.');
      setSession(session.checkSessionId);
    });
  const remove = async () => {
    const isSure = await ask({
      title: 'Delete this check?',
      text: `${check.name} and its results are deleted. This cannot be undone.`,
      action: 'Delete',
      isDangerous: true,
    });
    if (!isSure) return;
    await guarded(async () => {
      await send('DELETE', `/v1/checks/${check.id}`);
      sayDone(`Deleted: ${check.name}`);
      go('/');
    });
  };
  return (
    <>
      <div class="buttons">
        {mayRun && isRunnable && (
          <Button
            class="main"
            isOff={isBusy || check.activated === false}
            title={check.activated === false ? 'The check is paused' : undefined}
            onClick={() => void run()}
          >
            Run now
          </Button>
        )}
        {mayWrite && (
          <>
            <a class="button" href={`/checks/${check.id}/edit`}>
              Edit
            </a>
            <Button
              isOff={isBusy}
              onClick={() =>
                void change(
                  { muted: !check.muted },
                  check.muted ? 'Alerts are sent again' : 'Alerts are muted',
                )
              }
            >
              {check.muted ? 'Unmute' : 'Mute'}
            </Button>
            <Button
              isOff={isBusy}
              onClick={() =>
                void change(
                  { activated: !check.activated },
                  check.activated ? 'The check is paused' : 'The check runs again',
                )
              }
            >
              {check.activated ? 'Pause' : 'Resume'}
            </Button>
            <a class="button" href={`/checks/new?from=${check.id}`}>
              Duplicate
            </a>
            <Button class="danger" isOff={isBusy} onClick={() => void remove()}>
              Delete
            </Button>
          </>
        )}
      </div>
      {sessionId !== null && <Progress key={sessionId} id={sessionId} checkId={check.id} />}
    </>
  );
}

const pathOf = ({ checkType, id }: Check) =>
  `/v1/checks/${checkType === 'MULTI_STEP' ? 'multistep' : checkType.toLowerCase()}/${id}`;

/** What the requested run is doing, and at its end a link to each result. */
function Progress({ id, checkId }: { id: string; checkId: string }) {
  const [session, setSession] = useState<Session | null>(null);
  const latest = useRef<() => void>(() => {});
  useEffect(() => {
    const ending = new AbortController();
    const path = `/v2/check-sessions/${id}`;
    const read = async () => setSession(await get<Session>(path, ending.signal));
    latest.current = () => void read().catch(() => undefined);
    // The route answers when the session ends, or after its longest wait with 408: then it is asked again.
    const wait = async () => {
      await read();
      while (!ending.signal.aborted) {
        try {
          const ended = await get<Session>(`${path}/completion?maxWaitSeconds=30`, ending.signal);
          setSession(ended);
          if (!goesOn(ended)) return;
        } catch (error) {
          if (ending.signal.aborted) return;
          if (!(error instanceof Error) || !('status' in error) || error.status !== 408) throw error;
        }
      }
    };
    wait().catch((error: unknown) => {
      if (!ending.signal.aborted) sayFailed(error);
    });
    return () => ending.abort();
  }, [id]);
  useLive(['job', 'run'], () => latest.current(), { checkId });
  const finals = session?.results.filter(({ resultType }) => resultType === 'FINAL') ?? [];
  return (
    <div class="card progress" role="status" aria-label="The requested run">
      {session === null || goesOn(session) ? (
        <span>
          <span class="spinner" aria-hidden="true" /> {stageOf(session)}
        </span>
      ) : (
        <Status
          status={session.status.toLowerCase()}
          word={session.status.toLowerCase().replaceAll('_', ' ')}
        />
      )}
      {finals.map(({ checkResultId, runLocation }) => (
        <a key={checkResultId} href={`/checks/${checkId}/runs/${checkResultId}`}>
          Result from {runLocation}
        </a>
      ))}
    </div>
  );
}

const goesOn = ({ status }: Session) => status === 'STARTED' || status.startsWith('PROGRESS');

function stageOf(session: Session | null): string {
  const stages = (session?.inProgress ?? []).map(({ stage, runLocation }) =>
    [runLocation, stage].filter(Boolean).join(': '),
  );
  return stages.filter(Boolean).join(', ') || 'The run has been requested …';
}
