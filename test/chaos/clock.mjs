/**
 * Loaded before the program (`--import`): its wall clock is off by the milliseconds in the file CHAOS_CLOCK, read again every
 * 100 ms. The monotonic clock stays as it is, as when an administrator sets a machine's clock.
 */
import { readFileSync } from 'node:fs';

const file = process.env['CHAOS_CLOCK'];
if (file !== undefined) {
  const RealDate = Date;
  const realNow = Date.now.bind(Date);
  let offset = 0;
  let looked = 0;
  const now = () => {
    const real = realNow();
    if (Math.abs(real - looked) >= 100) {
      looked = real;
      try {
        offset = Number(readFileSync(file, 'utf8')) || 0;
      } catch {
        // Being replaced.
      }
    }
    return real + offset;
  };
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RealDate(now()).toString(),
    get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
  });
}
