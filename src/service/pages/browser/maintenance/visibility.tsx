import { get } from '../base/service.ts';
import { useLoad } from '../base/load.ts';
import { errorAt, type FieldErrors } from '../parts/form/field.tsx';
import { SwitchField } from '../parts/form/inputs.tsx';
import { ManyField, WordsField } from '../parts/form/lists.tsx';
import type { Visibility } from './windows.ts';

/** How status pages show a maintenance window. */

type Named = { readonly id: string; readonly name: string };

const all = async (path: string, signal: AbortSignal) =>
  (await get<{ entries: Named[] }>(`${path}?paginated=false`, signal)).entries;

const choices = (entries: readonly Named[]) => entries.map(({ id, name }) => ({ value: id, title: name }));

export function VisibilityFields({
  value,
  errors,
  onChange,
}: {
  value: Visibility;
  errors: FieldErrors;
  onChange: (value: Visibility) => void;
}) {
  const pages = useLoad('pages', (signal) => all('/v1/status-pages', signal));
  const services = useLoad('services', (signal) => all('/v1/status-pages/services', signal));
  const change = (part: Partial<Visibility>) => onChange({ ...value, ...part });
  const flag = (name: keyof Visibility, label: string) => (
    <SwitchField label={label} value={value[name] === true} onChange={(on) => change({ [name]: on })} />
  );
  const at = (name: string) => errorAt(errors, `statusPageVisibility.${name}`);
  return (
    <section class="card">
      <h2>Status pages</h2>
      {flag('enabled', 'Status pages show this window')}
      {value.enabled && (
        <>
          <ManyField
            label="Status pages"
            hint="None chosen: all of them."
            value={value.statusPageIds}
            error={at('statusPageIds')}
            choices={choices(pages.value ?? [])}
            onChange={(statusPageIds) => change({ statusPageIds })}
          />
          {flag('affectAllServices', 'It affects all services')}
          {!value.affectAllServices && (
            <ManyField
              label="Affected services"
              value={value.serviceIds}
              error={at('serviceIds')}
              choices={choices(services.value ?? [])}
              onChange={(serviceIds) => change({ serviceIds })}
            />
          )}
          {flag('suppressAutoIncidents', 'Alerts open no incidents of these services')}
          {flag('autoStart', 'It begins by itself; otherwise an update begins it')}
          {flag('autoEnd', 'It ends by itself; otherwise an update ends it')}
          {flag('notifyOnStart', 'Tell subscribers when it begins')}
          {flag('notifyOnEnd', 'Tell subscribers when it is completed')}
          <WordsField
            label="Reminders to subscribers"
            hint="Minutes before the beginning, 60 to 10,080; at most three."
            value={value.reminderMinutesBefore.map(String)}
            error={at('reminderMinutesBefore')}
            onChange={(words) =>
              change({
                reminderMinutesBefore: words.map(Number).filter((minutes) => Number.isFinite(minutes)),
              })
            }
          />
        </>
      )}
    </section>
  );
}
