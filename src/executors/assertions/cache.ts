/**
 * `make(key)` remembered for the `limit` most recently used keys: patterns and paths come from checks, which repeat
 * them with every run, but nothing bounds how many checks an agent meets in its life.
 */
export function remember<Value>(limit: number, make: (key: string) => Value): (key: string) => Value {
  const known = new Map<string, Value>();
  return (key) => {
    let value = known.get(key);
    if (value === undefined) {
      value = make(key);
      if (known.size >= limit) {
        const oldest = known.keys().next();
        if (!oldest.done) known.delete(oldest.value);
      }
    } else {
      known.delete(key); // a Map keeps insertion order: deleted and set again = the most recent
    }
    known.set(key, value);
    return value;
  };
}
