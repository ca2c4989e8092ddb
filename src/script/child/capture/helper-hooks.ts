import type { RecordFile } from './file.ts';
import { bounds, type LostSecret, type TestKey } from './format.ts';
import { shortened } from '../shortened.ts';

/** Set while tests run; the helpers package calls it. */
const hooks = Symbol.for('location-agent.hooks');

/** Whether the helpers are already enabled in this process. */
export const hasHooks = (): boolean => hooks in globalThis;

/** Enables the helpers package in this process: its records go to `file`. */
export function provideHooks(options: {
  file: RecordFile;
  /** For secrets; absent = `file`. */
  secrets?: RecordFile;
  currentTest: () => TestKey;
  onSecret?: ((value: string) => void) | undefined;
  onLostSecret?: ((limit: LostSecret['limit']) => void) | undefined;
}): void {
  const { file, secrets = file } = options;
  let marks = 0;
  const known = new Set<string>();
  Object.defineProperty(globalThis, hooks, {
    configurable: true,
    value: {
      markDegraded: (reason: unknown) => {
        if (marks++ >= 1000) return;
        const text = typeof reason === 'string' ? shortened(reason, bounds.shortText) : '';
        file.write({ kind: 'degraded', test: options.currentTest(), reason: text });
      },
      secret: (value: unknown) => {
        if (typeof value !== 'string' || value === '' || known.has(value)) return;
        const limit =
          value.length > bounds.secretLength ? 'length' : known.size >= bounds.secrets ? 'count' : null;
        if (limit !== null) {
          const lost: LostSecret = { kind: 'lost-secret', limit };
          secrets.write(lost);
          options.onLostSecret?.(lost.limit);
          return;
        }
        known.add(value);
        secrets.write({ kind: 'secret', value });
        options.onSecret?.(value);
      },
    },
  });
}
