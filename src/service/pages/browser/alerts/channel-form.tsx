import { useState } from 'preact/hooks';
import { useLoad } from '../base/load.ts';
import { getAll } from '../base/service.ts';
import { Button } from '../parts/button.tsx';
import { errorAt } from '../parts/form/field.tsx';
import { AsText } from '../parts/form/as-text.tsx';
import { Form, useForm } from '../parts/form/form.tsx';
import { ChoiceField, NumberField, SwitchField } from '../parts/form/inputs.tsx';
import { ManyField } from '../parts/form/lists.tsx';
import { ChecksField } from '../parts/check-search.tsx';
import { sayDone } from '../parts/messages.tsx';
import { channelTypes, ConfigFields, withoutSecrets } from './config-fields.tsx';
import { nameOf, type Channel, type Subscription } from './types.ts';

/** The form of a channel: its config by its type, what it gets, and who is subscribed. */

type Body = Omit<Channel, 'id' | 'isPartial'>;
const path = '/v1/alert-channels';

const newBody = (type: string): Body => ({
  type,
  config: channelTypes[type]?.empty ?? {},
  subscriptions: [],
  sendRecovery: true,
  sendFailure: true,
  sendDegraded: false,
  sslExpiry: false,
  sslExpiryThreshold: 30,
  autoSubscribe: false,
});

const bodyOf = (channel: Channel): Body => ({
  type: channel.type,
  config: channel.config,
  subscriptions: channel.subscriptions.map(({ activated, checkId, groupId }) => ({
    activated,
    checkId,
    groupId,
  })),
  sendRecovery: channel.sendRecovery,
  sendFailure: channel.sendFailure,
  sendDegraded: channel.sendDegraded,
  sslExpiry: channel.sslExpiry,
  sslExpiryThreshold: channel.sslExpiryThreshold,
  autoSubscribe: channel.autoSubscribe,
});

export function ChannelForm({ channel, onClose }: { channel: Channel | null; onClose: () => void }) {
  const form = useForm<Body>(channel === null ? newBody('WEBHOOK') : bodyOf(channel));
  const [hasSubscriptions, setHasSubscriptions] = useState(false);
  const { body, change, errors } = form;
  const [method, to] =
    channel === null ? (['POST', path] as const) : (['PUT', `${path}/${channel.id}`] as const);
  // Subscriptions that were not changed are left alone: there may be more than are shown.
  const { subscriptions, ...others } = body;
  const config = withoutSecrets(body.type, body.config);
  const sent = hasSubscriptions ? { ...others, subscriptions } : others;
  const submit = async () => {
    if ((await form.save(method, to, sent)) === undefined) return;
    sayDone('Saved the channel');
    onClose();
  };
  return (
    <>
      <h2>{channel === null ? 'New channel' : `Change ${nameOf(channel)}`}</h2>
      <Form
        message={form.message}
        onSubmit={() => void submit()}
        buttons={
          <>
            <Button type="submit" class="main" isOff={form.isBusy}>
              {channel === null ? 'Create channel' : 'Save'}
            </Button>
            <button type="button" onClick={onClose}>
              All channels
            </button>
          </>
        }
      >
        <ChoiceField
          label="Type"
          disabled={channel !== null}
          value={body.type}
          error={errorAt(errors, 'type')}
          choices={Object.entries(channelTypes).map(([value, { title }]) => ({ value, title }))}
          onChange={(type) => change({ type, config: channelTypes[type]?.empty ?? {} })}
        />
        <ConfigFields
          type={body.type}
          config={body.config}
          errors={errors}
          onChange={(config) => change({ config })}
        />
        <h3>What it gets</h3>
        <SwitchField
          label="Failures"
          value={body.sendFailure}
          onChange={(sendFailure) => change({ sendFailure })}
        />
        <SwitchField
          label="Degraded runs"
          value={body.sendDegraded}
          onChange={(sendDegraded) => change({ sendDegraded })}
        />
        <SwitchField
          label="Recoveries"
          value={body.sendRecovery}
          onChange={(sendRecovery) => change({ sendRecovery })}
        />
        <SwitchField
          label="Certificates that expire soon"
          value={body.sslExpiry}
          onChange={(sslExpiry) => change({ sslExpiry })}
        />
        {body.sslExpiry && (
          <NumberField
            label="Days before a certificate expires"
            min={1}
            max={30}
            value={body.sslExpiryThreshold}
            error={errorAt(errors, 'sslExpiryThreshold')}
            onChange={(days) => change({ sslExpiryThreshold: days ?? 30 })}
          />
        )}
        <h3>Subscriptions</h3>
        <SwitchField
          label="Subscribe new checks"
          value={body.autoSubscribe}
          onChange={(autoSubscribe) => change({ autoSubscribe })}
        />
        {channel?.isPartial ? (
          <p class="note">There are too many subscriptions to show; change them at the checks.</p>
        ) : (
          <Subscriptions
            value={subscriptions}
            error={errorAt(errors, 'subscriptions')}
            onChange={(changed) => {
              setHasSubscriptions(true);
              change({ subscriptions: changed });
            }}
          />
        )}
        <AsText
          method={method}
          path={to}
          body={{ ...(channel?.isPartial ? others : body), config }}
          resource={{
            kind: 'alert-channel',
            name: nameOf({ ...body, id: 0 }),
            // Files subscribe checks in the checks, not in the channel.
            content: { ...others, config },
          }}
        />
      </Form>
    </>
  );
}

type Named = { readonly id: number; readonly name: string };
function Subscriptions({
  value,
  error,
  onChange,
}: {
  value: readonly Subscription[];
  error: string | undefined;
  onChange: (value: Subscription[]) => void;
}) {
  const loaded = useLoad('groups', (signal) => getAll<Named>('/v2/check-groups', signal));
  const active = value.filter(({ activated }) => activated);
  const checkIds = active.flatMap(({ checkId }) => checkId ?? []);
  const groupIds = active.flatMap(({ groupId }) => (groupId === null ? [] : [String(groupId)]));
  const choices = (loaded.value ?? []).map(({ id, name }) => ({ value: String(id), title: name }));
  // A group that is not listed stays as it is.
  for (const id of groupIds)
    if (!choices.some((choice) => choice.value === id)) choices.push({ value: id, title: `Group ${id}` });
  /** Subscriptions that are no longer chosen stay, and are off. */
  const choose = (kind: 'checkId' | 'groupId', chosen: readonly string[]) => {
    const idOf = (one: Subscription) => (one[kind] === null ? null : String(one[kind]));
    const kept = value.map((one) => {
      const id = idOf(one);
      return id === null ? one : { ...one, activated: chosen.includes(id) };
    });
    const added = chosen
      .filter((id) => value.every((one) => idOf(one) !== id))
      .map((id): Subscription =>
        kind === 'groupId'
          ? { activated: true, checkId: null, groupId: Number(id) }
          : { activated: true, checkId: id, groupId: null },
      );
    onChange([...kept, ...added]);
  };
  return (
    <>
      {choices.length > 0 && (
        <ManyField
          label="Groups"
          error={error}
          value={groupIds}
          choices={choices}
          onChange={(chosen) => choose('groupId', chosen)}
        />
      )}
      <ChecksField
        label="Checks"
        error={error}
        value={checkIds}
        onChange={(chosen) => choose('checkId', chosen)}
      />
    </>
  );
}
