import { useEffect, useRef, useState } from 'preact/hooks';
import { bytes, milliseconds } from '../base/words.ts';
import { useMay, useUser } from '../base/user.ts';
import { Button } from '../parts/button.tsx';
import { Copy } from '../parts/copy.tsx';
import { ask } from '../parts/dialog.tsx';
import { Field } from '../parts/form/field.tsx';
import { AreaField, TextField } from '../parts/form/inputs.tsx';
import { Json } from '../parts/json.tsx';
import { Status } from '../parts/status.tsx';
import { mediaOf, type Operation, type Parameter, type Schemas } from './document.ts';
import {
  addressOf,
  curlOf,
  firstDraft,
  keyOf,
  sendDraft,
  settable,
  type Answer,
  type Draft,
} from './request.ts';
import { limitsOf } from './schema.tsx';

/** A form that sends the request with the session of this browser and shows the answer. */
export function TryIt({ operation, schemas }: { operation: Operation; schemas: Schemas }) {
  const [draft, setDraft] = useState<Draft>(() => firstDraft(operation));
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const ending = useRef<AbortController | null>(null);
  useEffect(() => () => ending.current?.abort(), []);
  const refusal = useRefusal(operation);
  const set = (parameter: Parameter, value: string) =>
    setDraft((before) => ({ ...before, values: { ...before.values, [keyOf(parameter)]: value } }));

  const send = async (event: Event) => {
    event.preventDefault();
    const address = addressOf(operation, draft);
    const isDeletion = operation.method === 'DELETE';
    if (isDeletion && !(await confirmed(address))) return;
    const controller = new AbortController();
    ending.current = controller;
    setBusy(true);
    setError(null);
    setAnswer(null);
    try {
      await sendDraft(operation, draft, { signal: controller.signal, onAnswer: setAnswer });
    } catch {
      if (!controller.signal.aborted) setError('The service cannot be reached.');
    }
    setBusy(false);
  };

  const type = mediaOf(operation.requestBody)?.type;
  return (
    <form class="ref-try" onSubmit={(event) => void send(event)}>
      <Copy label={`${operation.operationId} as curl`} text={curlOf(operation, draft)} />
      {refusal !== null && <p class="note">{refusal}</p>}
      <div class="field-grid">
        {settable(operation).map((parameter) => (
          <Value
            key={keyOf(parameter)}
            parameter={parameter}
            schemas={schemas}
            value={draft.values[keyOf(parameter)] ?? ''}
            onChange={(value) => set(parameter, value)}
          />
        ))}
      </div>
      {type === 'application/json' && (
        <AreaField
          label="Body"
          rows={Math.min(24, draft.body.split('\n').length + 1)}
          value={draft.body}
          onChange={(body) => setDraft((before) => ({ ...before, body }))}
        />
      )}
      {type !== undefined && type !== 'application/json' && (
        <Field label="File">
          {(attributes) => (
            <input
              {...attributes}
              type="file"
              onChange={({ currentTarget }) =>
                setDraft((before) => ({ ...before, file: currentTarget.files?.[0] ?? null }))
              }
            />
          )}
        </Field>
      )}
      <div class="buttons">
        <Button
          type="submit"
          class={operation.method === 'DELETE' ? 'danger' : 'main'}
          isOff={isBusy || refusal !== null}
        >
          Send the request
        </Button>
        {isBusy && (
          <button type="button" onClick={() => ending.current?.abort()}>
            Stop
          </button>
        )}
      </div>
      <div aria-live="polite">
        {error !== null && <p class="note failed">{error}</p>}
        {answer !== null && <Answered answer={answer} />}
      </div>
    </form>
  );
}

const confirmed = (address: string): Promise<boolean> =>
  ask({
    title: 'Send this deletion?',
    text: (
      <p>
        The service deletes <code>{address}</code> in your account.
      </p>
    ),
    action: 'Delete',
    isDangerous: true,
  });

/** Why the request cannot be sent; null = it can. */
function useRefusal(operation: Operation) {
  const user = useUser();
  const role = operation['x-role'];
  const may = useMay(role ?? 'READ_ONLY');
  if (role === undefined) return null;
  if (user === null || user === undefined)
    return (
      <>
        <a href="/sign-in">Sign in</a> to send requests from here.
      </>
    );
  return may ? null : `This request needs the role ${role}; your key has ${user.role}.`;
}

function Value({
  parameter,
  schemas,
  value,
  onChange,
}: {
  parameter: Parameter;
  schemas: Schemas;
  value: string;
  onChange: (value: string) => void;
}) {
  const { name, required = false, schema = {} } = parameter;
  const values =
    schema.enum?.filter((one) => one !== null) ?? (schema.type === 'boolean' ? [true, false] : null);
  const isList = [schema.type].flat().includes('array');
  if (values === null)
    return (
      <TextField
        label={name}
        required={required}
        value={value}
        hint={
          isList
            ? 'Several values: separate them with commas.'
            : limitsOf(schema, schemas).slice(0, 2).join('; ').replaceAll('`', '')
        }
        onChange={onChange}
      />
    );
  return (
    <Field label={name} required={required}>
      {(attributes) => (
        <select {...attributes} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
          <option value="">not sent</option>
          {values.map((one) => (
            <option key={String(one)} value={String(one)}>
              {String(one)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Parsed JSON; undefined = the text is something else. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function Answered({ answer }: { answer: Answer }) {
  const { status, statusText, headers, text, isCut } = answer;
  const json = isCut ? undefined : parsed(text);
  // A redirect to another server is not followed, and the browser hides its status.
  const title = status === 0 ? 'a redirect' : `${status} ${statusText}`;
  return (
    <section class="ref-answer" aria-label="Answer">
      <p>
        <Status status={status < 400 ? 'passed' : 'failed'} word={title} />{' '}
        <span class="soft">
          {milliseconds(answer.milliseconds)}, {bytes(text.length)}
        </span>
      </p>
      <details>
        <summary>Headers</summary>
        <dl class="facts">
          {headers.map(([name, value]) => (
            <div key={name} class="ref-header">
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </details>
      {json === undefined ? (
        text !== '' && (
          <pre tabIndex={0} aria-label="Body of the answer">
            {text}
            {isCut && '\n…'}
          </pre>
        )
      ) : (
        <Json value={json} />
      )}
    </section>
  );
}
