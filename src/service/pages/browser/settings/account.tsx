import { useLoad } from '../base/load.ts';
import { get } from '../base/service.ts';
import { useMay, useUser } from '../base/user.ts';
import { Button } from '../parts/button.tsx';
import { errorAt } from '../parts/form/field.tsx';
import { AsText } from '../parts/form/as-text.tsx';
import { Form, useForm } from '../parts/form/form.tsx';
import { ChoiceField, SwitchField, TextField } from '../parts/form/inputs.tsx';
import { sayDone } from '../parts/messages.tsx';
import { Shown } from '../parts/notice.tsx';
import { Moment } from '../parts/time.tsx';

/** The account: its name, its runtime, and when its checks alert. */

type AlertSettings = {
  readonly escalationType: 'RUN_BASED' | 'TIME_BASED';
  readonly runBasedEscalation: { readonly failedRunThreshold: number };
  readonly timeBasedEscalation: { readonly minutesFailingThreshold: number };
  readonly reminders: { readonly amount: number; readonly interval: number };
  readonly parallelRunFailureThreshold: { readonly enabled: boolean; readonly percentage: number };
};
type Account = {
  readonly id: string;
  readonly name: string;
  readonly runtimeId: string;
  readonly alertSettings: AlertSettings;
  readonly created_at: string;
};
type Runtime = { readonly name: string; readonly stage: string };

const path = '/v1/accounts/me';

export function AccountSettings() {
  const user = useUser();
  const isAdmin = useMay('ADMIN');
  const account = useLoad(path, async (signal) => ({
    account: await get<Account>(path, signal),
    runtimes: await get<Runtime[]>('/v1/runtimes', signal),
  }));
  return (
    <>
      {user && (
        <section class="card" aria-labelledby="session">
          <h2 id="session">Your session</h2>
          <dl class="facts">
            <dt>API key</dt>
            <dd>
              {user.keyName} <code>{user.maskedKey}</code>
            </dd>
            <dt>Role</dt>
            <dd>{user.role}</dd>
            <dt>Account</dt>
            <dd>
              <code>{user.account.id}</code>
            </dd>
          </dl>
        </section>
      )}
      <Shown of={account} what="the account">
        {(value) =>
          isAdmin ? (
            <AccountForm
              account={value.account}
              runtimes={value.runtimes}
              onSaved={() => sayDone('Saved the account')}
            />
          ) : (
            <section class="card" aria-labelledby="account">
              <h2 id="account">{value.account.name}</h2>
              <p>
                Runtime {value.account.runtimeId}; created <Moment at={value.account.created_at} />.
              </p>
            </section>
          )
        }
      </Shown>
    </>
  );
}

const numbers = (values: readonly number[], word: (value: number) => string) =>
  values.map((value) => ({ value: String(value), title: word(value) }));
const unlimited = 100_000;

function AccountForm({
  account,
  runtimes,
  onSaved,
}: {
  account: Account;
  runtimes: readonly Runtime[];
  onSaved: () => void;
}) {
  const form = useForm<Pick<Account, 'name' | 'runtimeId' | 'alertSettings'>>({
    name: account.name,
    runtimeId: account.runtimeId,
    alertSettings: account.alertSettings,
  });
  const { body, change } = form;
  const settings = body.alertSettings;
  const set = (part: Partial<AlertSettings>) => change({ alertSettings: { ...settings, ...part } });
  const error = (field: string) => errorAt(form.errors, field);
  const submit = async () => {
    if ((await form.save('PUT', path)) !== undefined) onSaved();
  };
  const known = runtimes.filter(({ stage, name }) => stage !== 'REMOVED' || name === body.runtimeId);
  const { reminders, parallelRunFailureThreshold: parallel } = settings;
  return (
    <Form
      message={form.message}
      onSubmit={() => void submit()}
      buttons={
        <Button type="submit" class="main" isOff={form.isBusy}>
          Save
        </Button>
      }
    >
      <h2>Account</h2>
      <div class="field-grid">
        <TextField
          label="Name"
          required
          value={body.name}
          error={error('name')}
          onChange={(name) => change({ name })}
        />
        <ChoiceField
          label="Runtime"
          hint="Of scripts whose check and group name none."
          value={body.runtimeId}
          error={error('runtimeId')}
          choices={known.map(({ name, stage }) => ({
            value: name,
            title: `${name} (${stage.toLowerCase()})`,
          }))}
          onChange={(runtimeId) => change({ runtimeId })}
        />
      </div>
      <h2>When checks alert</h2>
      <p class="soft">For checks and groups that use the settings of the account.</p>
      <div class="field-grid">
        <ChoiceField
          label="Alert after"
          value={settings.escalationType}
          error={error('alertSettings.escalationType')}
          choices={[
            { value: 'RUN_BASED', title: 'a number of failed runs' },
            { value: 'TIME_BASED', title: 'a time of failures' },
          ]}
          onChange={(escalationType) => set({ escalationType })}
        />
        {settings.escalationType === 'RUN_BASED' ? (
          <ChoiceField
            label="Failed runs"
            value={String(settings.runBasedEscalation.failedRunThreshold)}
            choices={numbers([1, 2, 3, 4, 5], String)}
            onChange={(text) => set({ runBasedEscalation: { failedRunThreshold: Number(text) } })}
          />
        ) : (
          <ChoiceField
            label="Minutes of failures"
            value={String(settings.timeBasedEscalation.minutesFailingThreshold)}
            choices={numbers([5, 10, 15, 30], String)}
            onChange={(text) => set({ timeBasedEscalation: { minutesFailingThreshold: Number(text) } })}
          />
        )}
        <ChoiceField
          label="Reminders"
          value={String(reminders.amount)}
          choices={numbers([0, 1, 2, 3, 4, 5, unlimited], (value) =>
            value === unlimited ? 'until it recovers' : String(value),
          )}
          onChange={(text) => set({ reminders: { ...reminders, amount: Number(text) } })}
        />
        <ChoiceField
          label="Minutes between reminders"
          value={String(reminders.interval)}
          choices={numbers([1, 2, 3, 4, 5, 10, 15, 30], String)}
          onChange={(text) => set({ reminders: { ...reminders, interval: Number(text) } })}
        />
      </div>
      <SwitchField
        label="Checks that run at several locations at once alert only if a share of the locations fails"
        value={parallel.enabled}
        onChange={(enabled) => set({ parallelRunFailureThreshold: { ...parallel, enabled } })}
      />
      {parallel.enabled && (
        <ChoiceField
          label="Share of failed locations"
          value={String(parallel.percentage)}
          choices={numbers([10, 20, 30, 40, 50, 60, 70, 80, 90, 100], (value) => `${value} %`)}
          onChange={(text) => set({ parallelRunFailureThreshold: { ...parallel, percentage: Number(text) } })}
        />
      )}
      <AsText method="PUT" path={path} body={body} />
    </Form>
  );
}
