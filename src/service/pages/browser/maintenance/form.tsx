import { get } from '../base/service.ts';
import { useLoad } from '../base/load.ts';
import { go } from '../base/router.ts';
import { useMay } from '../base/user.ts';
import { Button } from '../parts/button.tsx';
import { sayDone } from '../parts/messages.tsx';
import { Shown } from '../parts/notice.tsx';
import type { PageProps } from '../base/page.ts';
import { AsText } from '../parts/form/as-text.tsx';
import { Form, useForm } from '../parts/form/form.tsx';
import { errorAt } from '../parts/form/field.tsx';
import { AreaField, ChoiceField, NumberField, SwitchField, TextField } from '../parts/form/inputs.tsx';
import { WordsField } from '../parts/form/lists.tsx';
import { Occurrences, queryOfOccurrences } from './occurrences.tsx';
import { VisibilityFields } from './visibility.tsx';
import { localText, type MaintenanceWindow } from './windows.ts';
import { PageHead } from '../parts/page-head.tsx';
import { DeleteButton, removeEntry } from '../parts/removal.tsx';

/** A new maintenance window, or one that is changed or deleted. */

export function Page({ params }: PageProps) {
  const id = params['id'];
  const stored = useLoad(id ?? 'new', (signal) =>
    id === undefined
      ? Promise.resolve(null)
      : get<MaintenanceWindow>(`/v1/maintenance-windows/${encodeURIComponent(id)}`, signal),
  );
  return (
    <Shown of={stored} what="the maintenance window">
      {(window) => <WindowForm key={id ?? 'new'} stored={window} />}
    </Shown>
  );
}

type Body = Omit<MaintenanceWindow, 'id'>;

function initial(): Body {
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const hour = 3_600_000;
  const next = Math.ceil(Date.now() / hour) * hour;
  return {
    name: '',
    description: null,
    timezone,
    startsAt: localText(new Date(next).toISOString(), timezone),
    endsAt: localText(new Date(next + hour).toISOString(), timezone),
    repeatInterval: null,
    repeatUnit: null,
    repeatEndsAt: null,
    pauseAllChecks: false,
    tags: [],
    silenceAllAlerts: false,
    silenceAlertsTags: [],
    statusPageVisibility: {
      enabled: false,
      affectAllServices: false,
      suppressAutoIncidents: false,
      notifyOnStart: false,
      notifyOnEnd: false,
      autoStart: true,
      autoEnd: true,
      reminderMinutesBefore: [],
      statusPageIds: [],
      serviceIds: [],
    },
  };
}

/** The stored window with its times on the clocks of its time zone, as the fields show them. */
function fieldsOf(window: MaintenanceWindow): Body {
  const { name, description, timezone, repeatInterval, repeatUnit, pauseAllChecks, tags } = window;
  const { silenceAllAlerts, silenceAlertsTags, statusPageVisibility } = window;
  return {
    name,
    description,
    timezone,
    startsAt: localText(window.startsAt, timezone),
    endsAt: localText(window.endsAt, timezone),
    repeatInterval,
    repeatUnit,
    repeatEndsAt: window.repeatEndsAt === null ? null : localText(window.repeatEndsAt, timezone),
    pauseAllChecks,
    tags,
    silenceAllAlerts,
    silenceAlertsTags,
    statusPageVisibility,
  };
}

function WindowForm({ stored }: { stored: MaintenanceWindow | null }) {
  const mayWrite = useMay('READ_WRITE');
  const form = useForm<Body>(stored === null ? initial() : fieldsOf(stored), {
    keptOver: queryOfOccurrences,
  });
  const { body, change, errors } = form;
  const method = stored === null ? 'POST' : 'PUT';
  const path = stored === null ? '/v1/maintenance-windows' : `/v1/maintenance-windows/${stored.id}`;
  const save = async () => {
    if ((await form.save(method, path)) === undefined) return;
    sayDone(`Saved: ${body.name}`);
    go('/maintenance');
  };
  const remove = async () => {
    const text = 'Its effects finish at once, and its occurrences are deleted.';
    if (await removeEntry({ path, name: `the window ${body.name}`, text })) go('/maintenance');
  };
  const repeats = body.repeatUnit !== null;
  return (
    <>
      <PageHead
        trail={[{ href: '/maintenance', title: 'Maintenance' }]}
        title={stored === null ? 'New maintenance window' : stored.name}
      >
        {stored !== null && mayWrite && (
          <div class="buttons">
            <DeleteButton onClick={() => void remove()} />
          </div>
        )}
      </PageHead>
      {stored !== null && <Occurrences windowId={stored.id} />}
      <Form
        isReadOnly={!mayWrite}
        message={form.message}
        onSubmit={() => void save()}
        buttons={
          mayWrite && (
            <Button type="submit" class="main" isOff={form.isBusy}>
              {stored === null ? 'Create window' : 'Save'}
            </Button>
          )
        }
      >
        <section class="card">
          <h2>When</h2>
          <TextField
            label="Name"
            required
            value={body.name}
            error={errorAt(errors, 'name')}
            onChange={(name) => change({ name })}
          />
          <AreaField
            label="Description"
            hint="Status pages show it."
            value={body.description ?? ''}
            error={errorAt(errors, 'description')}
            onChange={(text) => change({ description: text === '' ? null : text })}
          />
          <div class="field-grid">
            <TextField
              label="Begins"
              type="datetime-local"
              required
              value={body.startsAt}
              error={errorAt(errors, 'startsAt')}
              onChange={(startsAt) => change({ startsAt })}
            />
            <TextField
              label="Ends"
              type="datetime-local"
              required
              value={body.endsAt}
              error={errorAt(errors, 'endsAt')}
              onChange={(endsAt) => change({ endsAt })}
            />
            <TextField
              label="Time zone"
              hint="The times are those of its clocks, like Europe/Berlin."
              value={body.timezone}
              error={errorAt(errors, 'timezone')}
              onChange={(timezone) => change({ timezone })}
            />
          </div>
          <div class="field-grid">
            <ChoiceField
              label="Repeats"
              value={body.repeatUnit ?? ''}
              error={errorAt(errors, 'repeatUnit')}
              choices={[
                { value: '', title: 'Once' },
                { value: 'DAY', title: 'By days' },
                { value: 'WEEK', title: 'By weeks' },
                { value: 'MONTH', title: 'By months' },
              ]}
              onChange={(value) =>
                change(
                  value === ''
                    ? { repeatUnit: null, repeatInterval: null, repeatEndsAt: null }
                    : {
                        repeatUnit: value as 'DAY' | 'WEEK' | 'MONTH',
                        repeatInterval: body.repeatInterval ?? 1,
                      },
                )
              }
            />
            {repeats && (
              <>
                <NumberField
                  label="Every"
                  hint="1: each day, week or month"
                  min={1}
                  value={body.repeatInterval}
                  error={errorAt(errors, 'repeatInterval')}
                  onChange={(repeatInterval) => change({ repeatInterval })}
                />
                <TextField
                  label="Last repetition"
                  hint="Empty: it repeats for ever."
                  type="datetime-local"
                  value={body.repeatEndsAt ?? ''}
                  error={errorAt(errors, 'repeatEndsAt')}
                  onChange={(text) => change({ repeatEndsAt: text === '' ? null : text })}
                />
              </>
            )}
          </div>
        </section>
        <section class="card">
          <h2>What it does</h2>
          <SwitchField
            label="Pause all checks"
            value={body.pauseAllChecks}
            onChange={(pauseAllChecks) => change({ pauseAllChecks })}
          />
          <WordsField
            label="Pause checks with one of these tags"
            hint="Their own tags, or those of their group."
            value={body.tags}
            error={errorAt(errors, 'tags')}
            onChange={(tags) => change({ tags })}
          />
          <SwitchField
            label="Silence all alerts"
            value={body.silenceAllAlerts}
            onChange={(silenceAllAlerts) => change({ silenceAllAlerts })}
          />
          <WordsField
            label="Silence alerts of checks with one of these tags"
            value={body.silenceAlertsTags}
            error={errorAt(errors, 'silenceAlertsTags')}
            onChange={(silenceAlertsTags) => change({ silenceAlertsTags })}
          />
        </section>
        <VisibilityFields
          value={body.statusPageVisibility}
          errors={errors}
          onChange={(statusPageVisibility) => change({ statusPageVisibility })}
        />
        {mayWrite && (
          <AsText
            method={method}
            path={path}
            body={body}
            resource={{ kind: 'maintenance-window', name: body.name }}
          />
        )}
      </Form>
    </>
  );
}
