import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { quoted } from '../process/shell-word.ts';

/**
 * What stands in a browsers directory of Playwright's where the builds themselves are not: small shell scripts that start the
 * programs of the machine.
 */

/** What Chromium must not do on its own: a check's traffic is the script's alone. */
const quiet = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-domain-reliability',
  '--disable-breakpad',
  '--disable-sync',
  '--no-pings',
];

/** Where Playwright looks below `chromium-<revision>`, newer releases first; and below that of the headless shell. */
export const fullPlaces = ['chrome-linux64/chrome', 'chrome-linux/chrome'];
export const shellPlaces = [
  'chrome-headless-shell-linux64/chrome-headless-shell',
  'chrome-linux/headless_shell',
];

/** A shell script that starts Chromium as scripts need it. Playwright always asks for no sandbox; here the host decides. */
export function chromiumWrapper(program: string, sandbox: boolean, headless: boolean): string {
  const flags = [...quiet, ...(headless ? ['--headless'] : []), ...(sandbox ? [] : ['--no-sandbox'])];
  const dropped = 'for arg do shift; [ "$arg" = --no-sandbox ] || set -- "$@" "$arg"; done\n';
  return `#!/bin/sh\n${sandbox ? dropped : ''}exec ${quoted(program)} ${flags.join(' ')} "$@"\n`;
}

/** Puts a program where Playwright looks for it, with the marks of a complete install. `browser`: its folder. */
export async function putProgram(
  root: string,
  browser: string,
  place: string,
  script: string,
): Promise<void> {
  const file = join(root, browser, place);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, script);
  await chmod(file, 0o755);
  await writeFile(join(root, browser, 'INSTALLATION_COMPLETE'), '');
  await writeFile(join(root, browser, 'DEPENDENCIES_VALIDATED'), '');
}
