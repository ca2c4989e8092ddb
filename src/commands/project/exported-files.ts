import { stringify } from 'yaml';
import { isFields, type Fields } from '../../json-values.ts';
import { mask } from '../../secrets/secret.ts';
import { isCode, withTextFiles, type ExportedFile } from './exported-scripts.ts';

/** The files of an export: the same resources give the same bytes. */

export type Exported = {
  accountId: string;
  /** Where editors find the schema of the files. */
  schemaUrl: string;
  project: { logicalId: string; name: string; repoUrl: string | null };
  /** As the service describes them, in the order of the files. */
  resources: readonly {
    type: string;
    logicalId: string;
    physicalId: string;
    project: string | null;
    protected: boolean;
    payload: Fields;
  }[];
};

/** File of the resources of a type; checks have a file each. */
const fileOf: { readonly [type: string]: string | undefined } = {
  'private-location': 'private-locations.yaml',
  variable: 'variables.yaml',
  snippet: 'snippets.yaml',
  'alert-channel': 'alert-channels.yaml',
  'status-page-service': 'services.yaml',
  'check-group': 'groups.yaml',
  'status-page': 'status-pages.yaml',
  'maintenance-window': 'maintenance-windows.yaml',
  'alert-channel-subscription': 'subscriptions.yaml',
  'check-trigger': 'triggers.yaml',
  'check-group-trigger': 'triggers.yaml',
};

/** Folder of the scripts of a type. */
const scriptFolders: { readonly [type: string]: string | undefined } = {
  check: 'checks',
  'check-group': 'groups',
  snippet: 'snippets',
};

type Naming = { variables: Set<string>; paths: Set<string> };

/**
 * Files of a project, with the environment variables that stand for its secrets, and the number of resources that no
 * project owns.
 */
export function filesOf(exported: Exported): { files: ExportedFile[]; variables: string[]; adopted: number } {
  const { project, resources, accountId, schemaUrl } = exported;
  const yamlOf = (value: unknown) =>
    `# yaml-language-server: $schema=${schemaUrl}\n${stringify(value, style)}`;
  const naming: Naming = { variables: new Set(), paths: new Set() };
  const files: ExportedFile[] = [];
  const lists = new Map<string, Fields[]>();
  for (const { type, logicalId, protected: isProtected, payload } of resources) {
    const folder = scriptFolders[type];
    const base = folder === undefined ? '' : freePath(naming, folder, logicalId);
    const named = { kind: type, logicalId, ...(isProtected ? { protected: true } : {}) };
    const fields = withoutSecrets(payload, { naming, variable: logicalId, type });
    const list = fileOf[type];
    const from = list === undefined ? (folder ?? '') : '';
    const document = {
      ...named,
      ...(base === '' ? fields : withTextFiles(fields, { type, base, from, files })),
    };
    if (list === undefined) files.push({ path: `${base}.yaml`, text: yamlOf(document) });
    else lists.set(list, [...(lists.get(list) ?? []), document]);
  }
  for (const [path, documents] of lists) files.push({ path, text: yamlOf(documents) });
  const { logicalId, name, repoUrl } = project;
  const head = { logicalId, projectName: name, ...(repoUrl === null ? {} : { repoUrl }) };
  files.push({ path: 'project.yaml', text: yamlOf(head) });
  const free = resources.filter((one) => one.project === null);
  if (free.length > 0) {
    const ids = Object.fromEntries(
      free.map(({ type, logicalId: id, physicalId }) => [`${type}/${id}`, physicalId]),
    );
    files.push({
      path: 'adopt.yaml',
      text: adoption + stringify({ account: accountId, resources: ids }, style),
    });
  }
  return {
    files: files.sort((a, b) => (a.path < b.path ? -1 : 1)),
    variables: [...naming.variables].sort(),
    adopted: free.length,
  };
}

const adoption =
  '# Resources that no project owned. In this account, apply takes them over instead of creating others.\n' +
  '# Delete this file after the first apply.\n';

const style = { lineWidth: 0, aliasDuplicateObjects: false } as const;

/** A path without an ending that no other file has, also where the file system ignores case. */
export function freePath({ paths }: Pick<Naming, 'paths'>, folder: string, logicalId: string): string {
  const safe =
    logicalId
      .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/^[.-]+/, '')
      .slice(0, 120)
      // `plan` runs files with this ending.
      .replace(/\.check$/i, '-check') || 'check';
  let path = `${folder}/${safe}`;
  for (let number = 2; paths.has(path.toLowerCase()); number++) path = `${folder}/${safe}-${number}`;
  paths.add(path.toLowerCase());
  return path;
}

type Secrets = { naming: Naming; variable: string; type: string };

/** `{env: NAME}` in place of each masked value. A variable of the account keeps its own name. */
function withoutSecrets(payload: Fields, { naming, variable, type }: Secrets): Fields {
  const visit = (value: unknown, field: string, owner: Fields): unknown => {
    // A script may have a row of asterisks of its own; it holds no secret that the service masks.
    if (typeof value === 'string' && value.includes(mask) && !isCode(field, owner)) {
      const key = typeof owner['key'] === 'string' ? owner['key'] : field;
      const wanted = type === 'variable' ? key : `${variable}_${key}`;
      return { env: freeVariable(naming, wanted.toUpperCase().replaceAll(/[^A-Z0-9_]+/g, '_')) };
    }
    if (Array.isArray(value)) return value.map((item: unknown) => visit(item, field, owner));
    if (!isFields(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, visit(member, name, value)]),
    );
  };
  return visit(payload, '', payload) as Fields; // an object in, an object out
}

function freeVariable({ variables }: Naming, wanted: string): string {
  let name = wanted;
  for (let number = 2; variables.has(name); number++) name = `${wanted}_${number}`;
  variables.add(name);
  return name;
}
