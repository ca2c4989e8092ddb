import type { SendToHost } from './tell.ts';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { watchBrowserProcess } from './browser-process.ts';
import { hideFrames } from './frames.ts';
import { hasOwnSettings, type LaunchOptions } from './launch-options.ts';
import type { RecordFile } from '../capture/file.ts';
import { bounds, type LostSecret } from '../capture/format.ts';
import { shortened } from '../shortened.ts';

type BrowserLike = {
  on: (event: 'disconnected', listener: () => void) => void;
  close: (...args: unknown[]) => Promise<void>;
};
type BrowserTypeLike = { launch: (options?: LaunchOptions) => Promise<BrowserLike> };

const secretName = /^SERVICE_SECRET_/;

/**
 * Watches the environment: a variable SERVICE_SECRET_* becomes a secret when the script sets it. It is written to `file`,
 * and sent at once.
 */
export function watchSecrets(send: SendToHost, file: RecordFile): void {
  // A script may set the same value before each call; the file has room for each once.
  const known = new Set<string>();
  const seen = (name: string | symbol, value: unknown) => {
    if (typeof name !== 'string' || !secretName.test(name)) return;
    const text = String(value);
    if (known.has(text)) return;
    if (text.length > bounds.secretLength) {
      const lost: LostSecret = { kind: 'lost-secret', limit: 'length' };
      file.write(lost);
      send({ type: 'lost-secret', limit: lost.limit });
    } else if (text !== '') {
      // More of them are withheld anyway, and need not be in memory twice.
      if (known.size < bounds.secrets) known.add(text);
      file.write({ kind: 'secret', value: text });
      send({ type: 'secret', name, value: text });
    }
  };
  process.env = new Proxy(process.env, {
    set: (target, name, value: unknown) => {
      seen(name, value);
      return Reflect.set(target, name, value);
    },
    defineProperty: (target, name, descriptor) => {
      seen(name, descriptor.value);
      return Reflect.defineProperty(target, name, descriptor);
    },
  });
}

/** Reports when Chromium is requested, has started, failed to start, or exited although nobody closed it. */
export function watchBrowser(runtimeFolder: string, send: SendToHost): void {
  const fromPlaywright = createRequire(join(runtimeFolder, 'node_modules', 'playwright', 'package.json'));
  const core = fromPlaywright('playwright-core') as { chromium: BrowserTypeLike }; // its public API
  hideFrames(fromPlaywright);
  watchBrowserProcess(send);
  const runner = fromPlaywright('playwright/test') as { test: { info: () => unknown } }; // its public API
  const testRuns = () => {
    try {
      return runner.test.info() !== null;
    } catch {
      return false;
    }
  };
  const original = core.chromium.launch;
  core.chromium.launch = function launch(this: BrowserTypeLike, options?: LaunchOptions) {
    const started = performance.now();
    // If the script passes its own settings, a failure is the script's fault.
    const own = hasOwnSettings(this, options);
    const launching = original.call(this, options);
    if (own) return launching;
    send({ type: 'browser', state: 'starting' });
    launching.then(
      (browser) => {
        send({ type: 'browser', state: 'started', ms: Math.round(performance.now() - started) });
        let closed = false;
        const close = browser.close;
        browser.close = function closeBrowser(this: BrowserLike, ...args: unknown[]) {
          closed = true;
          return close.apply(this, args);
        };
        browser.on('disconnected', () => {
          // A browser that a script leaves open exits with this process, when no test runs any more.
          if (!closed && testRuns()) send({ type: 'browser', state: 'gone' });
        });
      },
      (error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        send({ type: 'browser', state: 'failed', message: shortened(message, 2000) });
      },
    );
    return launching;
  };
}
