import { useState } from 'preact/hooks';
import { get, withQuery } from '../base/service.ts';
import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import { setQuery, usePlace } from '../base/router.ts';
import { useMay } from '../base/user.ts';
import { Button } from '../parts/button.tsx';
import { errorAt } from '../parts/form/field.tsx';
import { Form, useForm } from '../parts/form/form.tsx';
import { AreaField, SwitchField } from '../parts/form/inputs.tsx';
import { sayDone } from '../parts/messages.tsx';
import { Empty, Shown } from '../parts/notice.tsx';
import { pageOf } from '../parts/paging.tsx';
import { Status } from '../parts/status.tsx';
import { moment, Moment } from '../parts/time.tsx';
import { OccurrenceUpdates } from './updates.tsx';
import { isOver, occurrenceWords, type Occurrence } from './windows.ts';

/** The occurrences of a window: list, cancel one, and its updates for visitors of status pages. */

const limit = 20;
const dayMs = 86_400_000;
const periods = [
  { id: 'ahead', title: 'Now and ahead', from: -1, to: 365 },
  { id: 'past', title: 'Last 90 days', from: -90, to: 0 },
] as const;

/** What the list changes in the query. The form of the window is kept over it. */
export const queryOfOccurrences = ['period', 'page'] as const;

export function Occurrences({ windowId }: { windowId: number }) {
  const { query } = usePlace();
  const period = periods.find(({ id }) => id === query.get('period')) ?? periods[0];
  const page = pageOf(query);
  const base = `/v1/maintenance-windows/${windowId}/occurrences`;
  const loaded = useLoad(
    `${base} ${period.id} ${page}`,
    (signal) => {
      // One moment for both ends: the service refuses a period of a millisecond more than a year and a day.
      const now = Date.now();
      const at = (days: number) => new Date(now + days * dayMs).toISOString();
      const path = withQuery(base, { limit, page, from: at(period.from), to: at(period.to) });
      return get<Occurrence[]>(path, signal);
    },
    { keep: true },
  );
  useReloadOn(['maintenance'], loaded.reload);
  return (
    <section class="card" aria-labelledby="occurrences">
      <div class="card-head">
        <h2 id="occurrences">Occurrences</h2>
        <div class="buttons" role="group" aria-label="Time of the occurrences">
          {periods.map(({ id, title }) => (
            <button
              key={id}
              type="button"
              aria-pressed={id === period.id}
              onClick={() => setQuery({ period: id === periods[0].id ? null : id, page: null })}
            >
              {title}
            </button>
          ))}
        </div>
      </div>
      <Shown of={loaded} what="the occurrences">
        {(all) =>
          all.length === 0 ? (
            <Empty title="No occurrences in this time" />
          ) : (
            <ul class="tests">
              {all.map((one) => (
                <OneOccurrence
                  key={one.id}
                  occurrence={one}
                  path={`${base}/${one.id}`}
                  reload={loaded.reload}
                />
              ))}
            </ul>
          )
        }
      </Shown>
      {(page > 1 || loaded.value?.length === limit) && (
        <nav class="paging" aria-label="Pages of the occurrences">
          <Button isOff={page <= 1} onClick={() => setQuery({ page: page === 2 ? null : page - 1 })}>
            Earlier
          </Button>
          <Button isOff={loaded.value?.length !== limit} onClick={() => setQuery({ page: page + 1 })}>
            Later
          </Button>
        </nav>
      )}
    </section>
  );
}

const statuses: { readonly [S in Occurrence['status']]: string } = {
  SCHEDULED: 'waiting',
  IN_PROGRESS: 'running',
  VERIFYING: 'running',
  COMPLETED: 'passed',
  CANCELLED: 'cancelled',
};

function OneOccurrence({
  occurrence,
  path,
  reload,
}: {
  occurrence: Occurrence;
  path: string;
  reload: () => void;
}) {
  const mayWrite = useMay('READ_WRITE');
  const [isCancelling, setCancelling] = useState(false);
  const { startsAt, endsAt, status, updates } = occurrence;
  return (
    <li>
      <div class="test-line">
        <Status status={statuses[status]} word={occurrenceWords[status]} />
        <span>
          <Moment at={startsAt} /> to <Moment at={endsAt} />
        </span>
        {mayWrite && !isOver(status) && !isCancelling && (
          <button
            type="button"
            class="danger"
            aria-label={`Cancel the occurrence of ${moment(startsAt)}`}
            onClick={() => setCancelling(true)}
          >
            Cancel
          </button>
        )}
      </div>
      {isCancelling && (
        <Cancelling
          path={path}
          onEnd={(isDone) => {
            setCancelling(false);
            if (isDone) reload();
          }}
        />
      )}
      <details open={status === 'IN_PROGRESS' || status === 'VERIFYING'}>
        <summary>
          {updates.length === 0
            ? 'No updates'
            : `${updates.length} ${updates.length === 1 ? 'update' : 'updates'}`}
        </summary>
        <OccurrenceUpdates occurrence={occurrence} path={path} reload={reload} />
      </details>
    </li>
  );
}

function Cancelling({ path, onEnd }: { path: string; onEnd: (isDone: boolean) => void }) {
  const form = useForm({ description: '', notifySubscribers: false });
  const { body, change, errors } = form;
  const cancel = async () => {
    const { description, notifySubscribers } = body;
    const sent = { notifySubscribers, ...(description === '' ? {} : { description }) };
    if ((await form.save('POST', `${path}/cancel`, sent)) === undefined) return;
    sayDone('The occurrence is cancelled.');
    onEnd(true);
  };
  return (
    <Form
      message={form.message}
      onSubmit={() => void cancel()}
      buttons={
        <>
          <Button type="submit" class="danger" isOff={form.isBusy}>
            Cancel the occurrence
          </Button>
          <button type="button" onClick={() => onEnd(false)}>
            Keep it
          </button>
        </>
      }
    >
      <AreaField
        label="Text for status pages"
        hint="Empty: The maintenance is cancelled."
        rows={2}
        value={body.description}
        error={errorAt(errors, 'description')}
        onChange={(description) => change({ description })}
      />
      <SwitchField
        label="Tell subscribers by mail"
        value={body.notifySubscribers}
        onChange={(notifySubscribers) => change({ notifySubscribers })}
      />
    </Form>
  );
}
