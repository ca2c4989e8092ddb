/**
 * Work of a loop that mostly finds nothing to do. A transaction that finds nothing takes three round trips to the database, and a look
 * outside of it takes one. While there is work, nobody looks.
 *
 * `look` returns something if there may be work, for example rows that it has locked for the duration of its statement. `work` returns
 * how much it has done; whether there still is work is its own business, since the rows may be gone.
 */
export function lookingFirst(
  look: () => Promise<readonly unknown[]>,
  work: () => Promise<number>,
): () => Promise<number> {
  let wasIdle = false;
  return async () => {
    if (wasIdle && (await look()).length === 0) return 0;
    wasIdle = false;
    const done = await work();
    wasIdle = done === 0;
    return done;
  };
}
