import type { ChaosCheck } from './facts.ts';
import type { World } from './world.ts';

/** Targets that really fail now and then, so that there is something to alert about. */
export function startWeather(
  world: World,
  checks: readonly ChaosCheck[],
  { least, most }: { least: number; most: number } = { least: 22_000, most: 38_000 },
): () => void {
  const timers = new Set<NodeJS.Timeout>();
  const later = (ms: number, work: () => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      work();
    }, ms);
    timers.add(timer);
  };
  const change = (check: ChaosCheck, isBad: boolean) => {
    world.setBad(check, isBad);
    later(world.random.whole(least, most), () => change(check, !isBad));
  };
  for (const check of checks) later(world.random.whole(1_000, 20_000), () => change(check, true));
  return () => {
    for (const timer of timers) clearTimeout(timer);
    timers.clear();
    for (const check of checks)
      if (check.bad.at(-1)?.to === Number.MAX_SAFE_INTEGER) world.setBad(check, false);
  };
}

/** The checks whose targets are changed: some of each kind. */
export const changingChecks = (world: World): ChaosCheck[] =>
  world.checks.filter(({ name }) => /^(url-[0-3]|(tcp|dns|api|ssl|grpc)-[01])$/.test(name));
