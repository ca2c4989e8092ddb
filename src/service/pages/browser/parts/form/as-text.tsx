import { useState } from 'preact/hooks';
import type { Method } from '../../base/service.ts';
import { Copy } from '../copy.tsx';
import { mask, masked, withEnvironment } from './masked.ts';
import { toYaml } from './yaml.ts';

/** The content of a form as JSON, as a curl command, and as a file. Secret values are masked. */

/** Kinds of resources that files describe; the names are those of `GET /v1/resources`. */
export type ResourceKind =
  | 'private-location'
  | 'variable'
  | 'snippet'
  | 'alert-channel'
  | 'status-page-service'
  | 'check-group'
  | 'check'
  | 'status-page'
  | 'maintenance-window';

export type Resource = {
  readonly kind: ResourceKind;
  /** The logical id is made from it. */
  readonly name: string;
  /** Its fields; absent = those of the body. */
  readonly content?: object;
};

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const dashed = (text: string) =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 60);

type Props = {
  method: Method;
  path: string;
  body: object;
  /** The resource that a file describes; absent = the file has the JSON. */
  resource?: Resource;
};

export function AsText(props: Props) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="as-text" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>As JSON, curl or file</summary>
      {isOpen && <Texts {...props} />}
    </details>
  );
}

function Texts({ method, path, body, resource }: Props) {
  const shown = masked(body);
  const json = JSON.stringify(shown, null, 2);
  const curl = [
    `curl -X ${method} ${quoted(`${location.origin}${path}`)}`,
    `  -H "Authorization: Bearer $SERVICE_API_KEY"`,
    `  -H 'content-type: application/json'`,
    `  -d ${quoted(json)}`,
  ].join(' \\\n');
  return (
    <>
      {json.includes(mask) && (
        <p class="hint">
          Secret values are masked: write them in the place of <code>{mask}</code>.
          {resource && ' The file reads them from the environment.'}
        </p>
      )}
      <p class="as-text-title">JSON</p>
      <Copy
        text={json}
        label="JSON"
        {...(resource === undefined ? { file: { name: 'body.json', type: 'application/json' } } : {})}
      />
      <p class="as-text-title">curl</p>
      <Copy text={curl} label="curl" />
      {resource && <ResourceFile {...resource} body={body} />}
    </>
  );
}

function ResourceFile({ kind, name, content, body }: Resource & { body: object }) {
  const logicalId = dashed(name) || kind;
  const file = `${logicalId}.yaml`;
  const fields = withEnvironment(masked(content ?? body), [logicalId]);
  const text = toYaml({ kind, logicalId, ...(fields as object) }); // an object stays one
  return (
    <>
      <p class="as-text-title">File for location-agent apply</p>
      <Copy text={text} label={`file ${file}`} file={{ name: file, type: 'application/yaml' }} />
    </>
  );
}
