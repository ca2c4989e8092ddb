/**
 * Work of a loop that mostly finds nothing to do. A transaction that finds nothing takes three round trips to the database, and one
 * statement outside of it takes one. While there is work, it is done without asking.
 *
 * `isAny` says whether there may be work. It must not lock what `work` locks with `skip locked`: it would hide rows from another replica.
 * `work` returns how much it has done.
 */
export function lookingFirst(
  isAny: () => Promise<boolean>,
  work: () => Promise<number>,
): () => Promise<number> {
  let wasIdle = false;
  return async () => {
    if (wasIdle && !(await isAny())) return 0;
    wasIdle = false;
    const done = await work();
    wasIdle = done === 0;
    return done;
  };
}
