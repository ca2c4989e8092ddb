import { get } from '../base/service.ts';
import type { Role } from '../base/user.ts';

/** The OpenAPI document of this service, in the form that the page shows. */

export type Schema = {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly properties?: { readonly [name: string]: Schema };
  readonly patternProperties?: { readonly [pattern: string]: Schema };
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly [keyword: string]: unknown;
};
export type Schemas = { readonly [name: string]: Schema };

type Media = {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: { readonly [name: string]: { readonly $ref?: string; readonly value?: unknown } };
};
type Message = {
  readonly description?: string;
  readonly headers?: { readonly [name: string]: { readonly description?: string } };
  readonly content?: { readonly [type: string]: Media };
};
export type Parameter = {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie';
  readonly required?: boolean;
  readonly description?: string;
  readonly example?: unknown;
  readonly schema?: Schema;
};
type Described = {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Message & { readonly required?: boolean };
  readonly responses: { readonly [status: string]: Message };
  readonly security?: readonly unknown[];
  readonly 'x-role'?: Role;
};
export type ApiDocument = {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: { readonly [path: string]: { readonly [method: string]: Described } };
  readonly components: {
    readonly schemas: Schemas;
    readonly examples?: { readonly [name: string]: { readonly value?: unknown } };
  };
};

/** One operation with its place. `words`: what the search looks at, in lower case. */
export type Operation = Described & {
  readonly method: string;
  readonly path: string;
  readonly words: string;
};
export type Group = {
  readonly name: string;
  readonly id: string;
  readonly description: string;
  readonly operations: readonly Operation[];
};

/** Reads the document of this service. Throws as `get`. */
export const readDocument = (signal: AbortSignal): Promise<ApiDocument> =>
  get<ApiDocument>('/openapi.json', signal);

/** The address of a subject on the page. */
export const groupId = (name: string): string => `tag-${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;

/** All operations by subject, in the order of the document. */
export function groupsOf({ tags, paths }: ApiDocument): Group[] {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Operation => {
      const { operationId, summary = '', tags: [tag = ''] = [] } = operation;
      const words = `${method} ${path} ${summary} ${operationId} ${tag}`.toLowerCase();
      return { ...operation, method: method.toUpperCase(), path, words };
    }),
  );
  return tags.map(({ name, description = '' }) => ({
    name,
    id: groupId(name),
    description,
    operations: all.filter((operation) => operation.tags?.[0] === name),
  }));
}

/** The groups with the operations that have all words of the search; groups without any are left out. */
export function found(groups: readonly Group[], search: string): Group[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...groups];
  return groups.flatMap((group) => {
    const operations = group.operations.filter((one) => words.every((word) => one.words.includes(word)));
    return operations.length === 0 ? [] : [{ ...group, operations }];
  });
}

/** The schema that a reference names, with the name; other schemas as they are. */
export function resolved(schema: Schema, schemas: Schemas): { schema: Schema; name: string | null } {
  const name = schema.$ref?.split('/').at(-1) ?? null;
  return name === null ? { schema, name } : { schema: schemas[name] ?? {}, name };
}

/** The media type of a body or an answer, and what is known about it; null = no content. */
export function mediaOf(message: Message | undefined): { type: string; media: Media } | null {
  const [entry] = Object.entries(message?.content ?? {});
  return entry === undefined ? null : { type: entry[0], media: entry[1] };
}

/** The example of a media type; undefined = it has none. */
export function exampleOf(media: Media, { components }: ApiDocument): unknown {
  if (media.example !== undefined) return media.example;
  const [one] = Object.values(media.examples ?? {});
  const name = one?.$ref?.split('/').at(-1);
  return name === undefined ? one?.value : components.examples?.[name]?.value;
}
