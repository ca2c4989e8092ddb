import type { PathExpression } from './syntax.ts';
import type { Value } from './values.ts';

/** The meaning of names inside blocks, for dialects that have `each` and `with`. */

export type Variables = { readonly [name: string]: Value };

/** One block's meaning of `this`, of its block parameters (`as |item index|`), and of `@index` and similar names. */
export type Scope = {
  self: Value;
  named: Variables;
  data: Variables;
  parent: Scope | null;
  /** The number of surrounding blocks. */
  depth: number;
};

/** The value of a path: `NAME`, `this`, `../NAME`, `@index`, `@root.NAME`, `TAGS.[0]`, `TAGS.length`. */
export function readPath(path: PathExpression, scope: Scope, variables: Variables): Value {
  const [first, ...rest] = path.parts.map(String);
  if (path.data) {
    if (first !== 'root') return own(scope.data, first);
    const [name, ...places] = rest;
    return partOf(own(variables, name), places);
  }
  if (first === undefined) {
    let place: Scope | null = scope;
    for (let up = 0; up < path.depth; up++) place = place?.parent ?? null;
    return place?.self;
  }
  return partOf(own(Object.hasOwn(scope.named, first) ? scope.named : variables, first), rest);
}

/** A part of a list; variables have no other parts. */
function partOf(start: Value, places: readonly string[]): Value {
  let value = start;
  for (const place of places) {
    if (!Array.isArray(value)) return undefined;
    if (place === 'length') value = value.length;
    else value = /^\d{1,4}$/.test(place) ? (value[Number(place)] as Value) : undefined;
  }
  return value;
}

const own = (of: Variables, name: string | undefined): Value =>
  name !== undefined && Object.hasOwn(of, name) ? of[name] : undefined;
