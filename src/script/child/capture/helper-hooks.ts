import type { RecordFile } from './file.ts';
import { bounds, type TestKey } from './format.ts';
import { shortened } from '../shortened.ts';

/** Set while tests run; the helpers package calls it. */
const hooks = Symbol.for('location-agent.hooks');

/** Whether the helpers are already enabled in this process. */
export const hasHooks = (): boolean => hooks in globalThis;

/** Enables the helpers package in this process: its records go to `file`. */
export function provideHooks(options: {
  file: RecordFile;
  currentTest: () => TestKey;
  onSecret?: ((value: string) => void) | undefined;
}): void {
  const { file } = options;
  let marks = 0;
  let secrets = 0;
  Object.defineProperty(globalThis, hooks, {
    configurable: true,
    value: {
      markDegraded: (reason: unknown) => {
        if (marks++ >= 1000) return;
        const text = typeof reason === 'string' ? shortened(reason, bounds.shortText) : '';
        file.write({ kind: 'degraded', test: options.currentTest(), reason: text });
      },
      secret: (value: unknown) => {
        if (typeof value !== 'string' || value === '' || value.length > 131_072 || secrets++ >= 1000) return;
        file.write({ kind: 'secret', value });
        options.onSecret?.(value);
      },
    },
  });
}
