import type { ComponentChildren } from 'preact';
import { useReloadOn } from '../base/live.ts';
import { useLoad } from '../base/load.ts';
import { get } from '../base/service.ts';
import { useMay } from '../base/user.ts';
import { Status } from '../parts/status.tsx';

/** What to do in an account that has no checks yet. Steps that are done are ticked off. */

type Location = { readonly runningAgents: readonly unknown[] };

/** How far the account is; null = not known yet. */
function useProgress(): { hasLocation: boolean; hasAgent: boolean } | null {
  const path = '/v1/private-locations?limit=100';
  const locations = useLoad(path, (signal) => get<Location[]>(path, signal));
  useReloadOn(['location'], locations.reload, { everyMs: 3000 });
  const known = locations.value;
  if (known === undefined) return null;
  return {
    hasLocation: known.length > 0,
    hasAgent: known.some(({ runningAgents }) => runningAgents.length > 0),
  };
}

export function FirstRun() {
  const mayWrite = useMay('READ_WRITE');
  const mayAdminister = useMay('ADMIN');
  const progress = useProgress();
  const { hasLocation, hasAgent } = progress ?? { hasLocation: false, hasAgent: false };
  const next = hasAgent ? 3 : hasLocation ? 2 : 1;
  const look = (step: number) => (step === next ? 'button main' : 'button');
  return (
    <section class="card first-run" aria-labelledby="first-run">
      <h2 id="first-run">Three steps to the first result</h2>
      <ol>
        <Step title="Create a location" isDone={hasLocation}>
          <p>A location is a place that checks run at: a data center, an office, or this computer.</p>
          {mayAdminister && progress !== null && !hasLocation && (
            <a class={look(1)} href="/locations/new">
              Create a location
            </a>
          )}
        </Step>
        <Step title="Connect an agent" isDone={hasAgent}>
          <p>
            An agent runs the checks of its location. The location's page has the command that starts one.
          </p>
          {progress !== null && !hasAgent && (
            <a class={look(2)} href="/locations">
              Connect an agent
            </a>
          )}
        </Step>
        <Step title="Create a check" isDone={false}>
          <p>An address is enough to begin. The first run starts within a minute.</p>
          {mayWrite && (
            <a class={look(3)} href="/checks/new">
              Create a check
            </a>
          )}
        </Step>
      </ol>
      {!mayWrite && (
        <p class="note">Your API key may only read. A key with the role READ_WRITE may create.</p>
      )}
    </section>
  );
}

function Step({ title, isDone, children }: { title: string; isDone: boolean; children: ComponentChildren }) {
  return (
    <li class={isDone ? 'done' : ''}>
      <h3>
        {title} {isDone && <Status status="passed" word="done" />}
      </h3>
      {children}
    </li>
  );
}
