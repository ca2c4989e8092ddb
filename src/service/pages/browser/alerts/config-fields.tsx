import { errorAt, type FieldErrors } from '../parts/form/field.tsx';
import { AreaField, ChoiceField, SwitchField, TextField } from '../parts/form/inputs.tsx';
import { Rows, WordsField } from '../parts/form/lists.tsx';
import type { Config } from './types.ts';

/** The fields of each channel type: one row per field. */

type FieldRow =
  | {
      readonly kind: 'text' | 'secret' | 'area' | 'words';
      readonly field: string;
      readonly label: string;
      readonly hint?: string;
      readonly required?: boolean;
    }
  | {
      readonly kind: 'choice';
      readonly field: string;
      readonly label: string;
      readonly choices: readonly string[];
    }
  | { readonly kind: 'pairs'; readonly field: string; readonly label: string; readonly one: string };

type TypeRow = { readonly title: string; readonly empty: Config; readonly fields: readonly FieldRow[] };

const stays = 'Never shown. Empty or masked: it stays as it is.';
const phone: TypeRow['fields'] = [
  { kind: 'text', field: 'name', label: 'Name' },
  {
    kind: 'text',
    field: 'number',
    label: 'Number',
    required: true,
    hint: 'With its country code, like +31612345678.',
  },
];

export const channelTypes: { readonly [type: string]: TypeRow } = {
  EMAIL: {
    title: 'E-mail',
    empty: { address: '' },
    fields: [{ kind: 'text', field: 'address', label: 'Address', required: true }],
  },
  WEBHOOK: {
    title: 'Webhook',
    empty: {
      name: '',
      url: '',
      method: 'POST',
      template: '',
      headers: [],
      queryParameters: [],
      webhookSecret: null,
      // Otherwise the receiver would get an empty body.
      webhookType: 'JSON',
    },
    fields: [
      { kind: 'text', field: 'name', label: 'Name' },
      { kind: 'text', field: 'url', label: 'URL', required: true, hint: 'A Handlebars template.' },
      {
        kind: 'choice',
        field: 'method',
        label: 'Method',
        choices: ['POST', 'GET', 'PUT', 'PATCH', 'DELETE', 'HEAD'],
      },
      {
        kind: 'text',
        field: 'webhookType',
        label: 'Receiver',
        hint: 'JSON, TEXT, CONTENT and CARD stand for a body if there is no template.',
      },
      {
        kind: 'area',
        field: 'template',
        label: 'Body',
        hint: 'A Handlebars template. Empty: the body that belongs to the receiver.',
      },
      { kind: 'pairs', field: 'headers', label: 'Headers', one: 'header' },
      { kind: 'pairs', field: 'queryParameters', label: 'Query parameters', one: 'parameter' },
      { kind: 'secret', field: 'webhookSecret', label: 'Signing secret', hint: stays },
    ],
  },
  CHAT_A: {
    title: 'Chat: incoming webhook',
    empty: { url: '', channel: '' },
    fields: [
      { kind: 'text', field: 'url', label: 'URL', required: true },
      { kind: 'text', field: 'channel', label: 'Room' },
    ],
  },
  CHAT_A_APP: {
    title: 'Chat: app',
    empty: { channels: [] },
    fields: [{ kind: 'words', field: 'channels', label: 'Rooms', required: true }],
  },
  SMS: { title: 'Text message', empty: { name: '', number: '' }, fields: phone },
  CALL: { title: 'Phone call', empty: { name: '', number: '' }, fields: phone },
  PAGING_A: {
    title: 'Paging A',
    empty: { account: '', serviceName: '', serviceKey: '' },
    fields: [
      { kind: 'text', field: 'account', label: 'Account' },
      { kind: 'text', field: 'serviceName', label: 'Service' },
      { kind: 'secret', field: 'serviceKey', label: 'Service key', hint: stays, required: true },
    ],
  },
  PAGING_B: {
    title: 'Paging B',
    empty: { name: '', apiKey: '', region: 'US', priority: 'P3' },
    fields: [
      { kind: 'text', field: 'name', label: 'Name' },
      { kind: 'secret', field: 'apiKey', label: 'API key', hint: stays, required: true },
      { kind: 'choice', field: 'region', label: 'Region', choices: ['US', 'EU'] },
      { kind: 'choice', field: 'priority', label: 'Priority', choices: ['P1', 'P2', 'P3', 'P4', 'P5'] },
    ],
  },
};

type Pair = { readonly key: string; readonly value: string; readonly locked: boolean };
/** Fields that are null, not empty, if they have no value. */
const nullable = ['webhookSecret', 'webhookType'];
const mask = '*********';

/** The config with what is never shown masked, for its text. */
export function withoutSecrets(type: string, config: Config): Config {
  const shown: { [field: string]: unknown } = { ...config };
  for (const { kind, field } of channelTypes[type]?.fields ?? []) {
    const value = shown[field];
    if (kind === 'secret' && typeof value === 'string' && value !== '') shown[field] = mask;
    if (kind === 'pairs' && Array.isArray(value))
      shown[field] = (value as Pair[]).map((pair) =>
        pair.locked && pair.value !== '' ? { ...pair, value: mask } : pair,
      );
  }
  return shown;
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : '');

export function ConfigFields({
  type,
  config,
  errors,
  onChange,
}: {
  type: string;
  config: Config;
  errors: FieldErrors;
  onChange: (config: Config) => void;
}) {
  return (
    <>
      {(channelTypes[type]?.fields ?? []).map((row) => {
        const value = config[row.field];
        const set = (to: unknown) =>
          onChange({ ...config, [row.field]: to === '' && nullable.includes(row.field) ? null : to });
        const common = { label: row.label, error: errorAt(errors, `config.${row.field}`) };
        if (row.kind === 'choice')
          return (
            <ChoiceField
              key={row.field}
              {...common}
              value={textOf(value)}
              choices={row.choices.map((choice) => ({ value: choice, title: choice }))}
              onChange={set}
            />
          );
        if (row.kind === 'pairs')
          return (
            <Pairs
              key={row.field}
              {...common}
              one={row.one}
              value={Array.isArray(value) ? (value as Pair[]) : []}
              onChange={set}
            />
          );
        const described = {
          ...common,
          ...(row.hint === undefined ? {} : { hint: row.hint }),
          required: row.required === true,
        };
        if (row.kind === 'words')
          return (
            <WordsField
              key={row.field}
              {...described}
              value={Array.isArray(value) ? value.map(textOf) : []}
              onChange={set}
            />
          );
        if (row.kind === 'area')
          return <AreaField key={row.field} {...described} value={textOf(value)} rows={6} onChange={set} />;
        return (
          <TextField
            key={row.field}
            {...described}
            type={row.kind === 'secret' ? 'password' : 'text'}
            value={textOf(value)}
            onChange={set}
          />
        );
      })}
    </>
  );
}

function Pairs({
  label,
  one,
  error,
  value,
  onChange,
}: {
  label: string;
  one: string;
  error: string | undefined;
  value: readonly Pair[];
  onChange: (value: Pair[]) => void;
}) {
  return (
    <Rows
      label={label}
      one={one}
      error={error}
      value={value}
      onChange={onChange}
      empty={(): Pair => ({ key: '', value: '', locked: false })}
    >
      {(pair, change, at) => (
        <>
          <input
            aria-label={`Name of ${one} ${at + 1}`}
            placeholder="name"
            value={pair.key}
            onInput={({ currentTarget }) => change({ ...pair, key: currentTarget.value })}
          />
          <input
            {...({ type: pair.locked ? 'password' : 'text' } as { type: 'text' })}
            autocomplete="off"
            aria-label={`Value of ${one} ${at + 1}`}
            placeholder="value"
            value={pair.value}
            onInput={({ currentTarget }) => change({ ...pair, value: currentTarget.value })}
          />
          <SwitchField
            label="Secret"
            value={pair.locked}
            onChange={(locked) => change({ ...pair, locked })}
          />
        </>
      )}
    </Rows>
  );
}
