import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FieldsOf, Reference } from '../../schemas/resources.d.ts';

/** Resources that are described in TypeScript or JavaScript. `plan` and `apply` take each one that a file constructs. */

/** Kinds of resources. */
export type Kind = keyof FieldsOf;

/** An existing resource that the project only refers to. It is never changed. */
export type Existing = { member: false; physicalId: string };

/** What has been constructed, in order. `place`: the file and line of its `new`, as a stack names them. */
export type Constructed = { kind: string; logicalId: string; fields: unknown; place: string };

/** Where the command that loads the files finds it. Two copies of the package in one process share it. */
const registry = Symbol.for('private-location-agent.constructs');

/** Begins to collect. Returns the list to which each construct is added. */
export function collect(): Constructed[] {
  const list: Constructed[] = [];
  Object.assign(globalThis, { [registry]: list });
  return list;
}

/** Adds what is constructed to the list, if a command collects. */
export function register(construct: Omit<Constructed, 'place'>): void {
  const list: unknown = Reflect.get(globalThis, registry);
  if (Array.isArray(list)) list.push({ ...construct, place: caller() });
}

const own = dirname(fileURLToPath(import.meta.url));

/** `file:line:column` of the innermost frame outside of the package. */
function caller(): string {
  const frames = new Error().stack?.split('\n').slice(1) ?? [];
  for (const frame of frames) {
    const place = /\(?((?:file:\/\/)?\/[^()]*:\d+:\d+)\)?$/.exec(frame)?.[1];
    if (place === undefined) continue;
    const path = place.startsWith('file:') ? fileURLToPath(place) : place;
    if (dirname(path) !== own) return path;
  }
  return '';
}

/** A resource of the project. Other resources refer to it by the object itself. */
export abstract class Construct<K extends Kind> implements Reference<K> {
  readonly kind: K;
  readonly logicalId: string;

  protected constructor(kind: K, logicalId: string, fields: FieldsOf[K] | Existing) {
    this.kind = kind;
    this.logicalId = logicalId;
    register({ kind, logicalId, fields });
  }
}
