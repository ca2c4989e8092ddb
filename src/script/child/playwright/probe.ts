import { spawnSync } from 'node:child_process';
import { openChannel } from '../channel.ts';

/** Tells whether a program that this process starts may make the namespaces that Chromium's sandbox is built of. */
const channel = openChannel();
const made = spawnSync('unshare', ['--user', '--map-root-user', '--pid', '--net', '--fork', 'true'], {
  stdio: 'ignore',
  timeout: 5000,
});
channel.send({ namespaces: made.status === 0 });
channel.unref();
