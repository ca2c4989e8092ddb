/**
 * Caches `make(key)` for the `limit` most recently used keys. Patterns and paths come from checks, which repeat them
 * in every run, but an agent may see any number of checks.
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
      known.delete(key); // a Map keeps insertion order, so deleting and setting again makes it the most recent
    }
    known.set(key, value);
    return value;
  };
}
