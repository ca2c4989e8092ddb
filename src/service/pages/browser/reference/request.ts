import { mediaOf, type ApiDocument, type Operation, type Parameter } from './document.ts';

/** A request that the reader composes: its values, its address, its form as a curl command, and its answer. */

export type Draft = {
  /** Values of parameters by `place name`, as typed. Empty = left out. */
  readonly values: { readonly [parameter: string]: string };
  readonly body: string;
  readonly file: File | null;
};
export type Answer = {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly text: string;
  readonly isCut: boolean;
  readonly milliseconds: number;
};

export const keyOf = (parameter: Parameter): string => `${parameter.in} ${parameter.name}`;

/** The parameters that a reader can set: the account follows from the session, and cookies belong to the browser. */
export const settable = ({ parameters = [] }: Operation): Parameter[] =>
  parameters.filter((one) => one.in === 'path' || one.in === 'query');

/** The draft with which the reader begins: ids and the body of the examples. */
export function firstDraft(operation: Operation): Draft {
  const values = Object.fromEntries(
    settable(operation).flatMap((parameter) =>
      parameter.in === 'path' ? [[keyOf(parameter), String(parameter.example ?? '')]] : [],
    ),
  );
  const example = mediaOf(operation.requestBody)?.media.example;
  return { values, body: example === undefined ? '' : JSON.stringify(example, null, 2), file: null };
}

const isList = ({ schema }: Parameter) => [schema?.type].flat().includes('array');

/** The path of the request with its query. */
export function addressOf(operation: Operation, { values }: Draft): string {
  const path = operation.path.replaceAll(/\{([^}]+)\}/g, (_whole, name: string) =>
    encodeURIComponent(values[`path ${name}`] ?? ''),
  );
  const query = new URLSearchParams();
  for (const parameter of settable(operation)) {
    const value = values[keyOf(parameter)] ?? '';
    if (parameter.in !== 'query' || value === '') continue;
    const parts = isList(parameter) ? value.split(',').map((part) => part.trim()) : [value];
    for (const part of parts) query.append(parameter.name, part);
  }
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** A text in single quotes for a POSIX shell. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The request as a curl command. The key comes from the environment. */
export function curlOf(operation: Operation, draft: Draft): string {
  const { method, requestBody, security } = operation;
  const type = mediaOf(requestBody)?.type;
  const lines = [
    `curl${method === 'GET' ? '' : ` -X ${method}`} ${quoted(location.origin + addressOf(operation, draft))}`,
  ];
  if (security === undefined || security.length > 0)
    lines.push('-H "authorization: Bearer $SERVICE_API_KEY"');
  if (type === 'application/json' && draft.body.trim() !== '')
    lines.push(`-H 'content-type: application/json'`, `-d ${quoted(draft.body)}`);
  else if (type !== undefined && type !== 'application/json')
    lines.push(`-H 'content-type: ${type}'`, `--data-binary ${quoted(`@${draft.file?.name ?? 'FILE'}`)}`);
  return lines.join(' \\\n  ');
}

const shownCharacters = 200_000;

/**
 * Sends the request with the session of this browser. `onAnswer` gets the answer so far, because streams of events do
 * not end by themselves. Throws if the service cannot be reached, or when `signal` ends the request.
 */
export async function sendDraft(
  operation: Operation,
  draft: Draft,
  { signal, onAnswer }: { signal: AbortSignal; onAnswer: (answer: Answer) => void },
): Promise<void> {
  const { method, requestBody } = operation;
  const type = mediaOf(requestBody)?.type;
  const body = type === 'application/json' ? draft.body : (draft.file ?? undefined);
  const begun = performance.now();
  const response = await fetch(addressOf(operation, draft), {
    method,
    credentials: 'same-origin',
    signal,
    redirect: 'manual',
    ...(type === undefined || body === undefined || body === ''
      ? {}
      : { headers: { 'content-type': type }, body }),
  });
  const answer = {
    status: response.status,
    statusText: response.statusText,
    headers: [...response.headers].sort(([one], [other]) => one.localeCompare(other)),
  };
  const decoder = new TextDecoder();
  let text = '';
  const show = () =>
    onAnswer({
      ...answer,
      text: text.slice(0, shownCharacters),
      isCut: text.length > shownCharacters,
      milliseconds: performance.now() - begun,
    });
  show();
  for (const reader = response.body?.getReader(); reader !== undefined;) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    if (text.length > shownCharacters) {
      await reader.cancel();
      break;
    }
    if (
      answer.headers.some(([name, kind]) => name === 'content-type' && kind.startsWith('text/event-stream'))
    )
      show();
  }
  show();
}

/** The operation that a `#…` of an address names; also in the form `#/Subject/operation`. */
export function operationAt(hash: string, { paths }: ApiDocument): string | null {
  const name = decodeURIComponent(hash.replace(/^#/, '')).split('/').at(-1) ?? '';
  const isKnown = Object.values(paths).some((methods) =>
    Object.values(methods).some(({ operationId }) => operationId === name),
  );
  return isKnown ? name : null;
}
