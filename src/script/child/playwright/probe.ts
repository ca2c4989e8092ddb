import { spawnSync } from 'node:child_process';
import { openChannel } from '../channel.ts';

/** Prints whether a program that this process starts may create the namespaces that Chromium's sandbox needs. */
const channel = openChannel();
const made = spawnSync('unshare', ['--user', '--map-root-user', '--pid', '--net', '--fork', 'true'], {
  stdio: 'ignore',
  timeout: 5000,
});
channel.send({ namespaces: made.status === 0 });
channel.unref();
