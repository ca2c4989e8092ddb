import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { quoted } from '../process/shell-word.ts';

/**
 * The content of a Playwright browsers directory that has no builds of its own: small shell scripts that start the
 * machine's programs.
 */

/** Chromium features to switch off: a check's traffic must come from the script only. */
const quiet = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-domain-reliability',
  '--disable-breakpad',
  '--disable-sync',
  '--no-pings',
];

/**
 * The paths that Playwright tries below `chromium-<revision>`, newer releases first, and below the headless shell's
 * folder.
 */
export const fullPlaces = ['chrome-linux64/chrome', 'chrome-linux/chrome'];
export const shellPlaces = [
  'chrome-headless-shell-linux64/chrome-headless-shell',
  'chrome-linux/headless_shell',
];

/**
 * A shell script that starts Chromium with the flags that scripts need. Playwright always passes --no-sandbox; here the
 * host decides.
 */
export function chromiumWrapper(program: string, sandbox: boolean, headless: boolean): string {
  const flags = [...quiet, ...(headless ? ['--headless'] : []), ...(sandbox ? [] : ['--no-sandbox'])];
  const dropped = 'for arg do shift; [ "$arg" = --no-sandbox ] || set -- "$@" "$arg"; done\n';
  return `#!/bin/sh\n${sandbox ? dropped : ''}exec ${quoted(program)} ${flags.join(' ')} "$@"\n`;
}

/** Puts a program where Playwright looks for it, with the marker files of a complete install. `browser`: its folder. */
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
