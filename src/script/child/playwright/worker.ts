import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { ScriptType } from '../../../protocol/check-types.ts';
import { openRecordFile } from '../capture/file.ts';
import { deferModules, unusedPaths } from './deferred.ts';
import { install } from './fixtures.ts';
import { watchBrowser, watchSecrets } from './hooks.ts';
import { type SendToHost } from './tell.ts';

/**
 * The process in which tests run: Playwright's own worker, with its modules loaded in advance. It knows nothing of any
 * run until `start` arrives, which contains the environment.
 */

const runtimeFolder = process.argv[2] ?? '';
const playwright = join(runtimeFolder, 'node_modules', 'playwright');
const load = createRequire(join(playwright, 'package.json'));

type Start = {
  locationAgent: 'start';
  env: { [name: string]: string };
  cwd: string;
  checkType: ScriptType;
  /** The folder for the capture's records. */
  captureFolder: string;
};

// The runner exited before it had work for this process.
const leave = () => process.exit(0);
process.on('disconnect', leave);

deferModules(load, unusedPaths(load, 'worker'));
for (const file of ['lib/worker/workerMain.js', 'lib/index.js', 'lib/common/configLoader.js']) {
  load(join(playwright, file));
}

const send: SendToHost = (message) => {
  // Playwright's runner ignores messages that it does not know; our runner listens too.
  if (process.connected) process.send?.({ method: '__location_agent__', params: message });
};

const begin = (message: unknown) => {
  const start = message as Start; // our own runner's first message
  if (start.locationAgent !== 'start') return;
  process.off('message', begin);
  process.off('disconnect', leave);
  process.chdir(start.cwd);
  for (const name of Object.keys(process.env)) if (!(name in start.env)) delete process.env[name];
  Object.assign(process.env, start.env);
  const secrets = openRecordFile(start.captureFolder, 'secrets');
  watchSecrets(send, secrets);
  watchBrowser(runtimeFolder, send);
  install({
    require: createRequire(join(runtimeFolder, 'package.json')),
    checkType: start.checkType,
    outputFolder: start.captureFolder,
    secrets,
    onSecret: (value) => send({ type: 'secret', name: 'SERVICE_SECRET', value }),
    onLostSecret: (limit) => send({ type: 'lost-secret', limit }),
  });
  load(join(playwright, 'lib/common/process.js'));
};
process.on('message', begin);
