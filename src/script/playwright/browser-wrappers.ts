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
 * Chromium features to switch off: pages of the address bar's suggestions, which each window of a full Chromium loads in two
 * further processes. Nobody types there, and they take as much processor time and memory as a page of a check.
 */
const addressBar = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup'].join(',');

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
 * host decides. Of several --disable-features Chromium reads only the last one, so the script adds to that of Playwright.
 */
export function chromiumWrapper(program: string, sandbox: boolean, headless: boolean): string {
  const flags = [...quiet, ...(headless ? ['--headless'] : []), ...(sandbox ? [] : ['--no-sandbox'])];
  return `#!/bin/sh
off=
for arg do
  shift
  case $arg in
    --disable-features=*) off=\${arg#*=}, ;;
${sandbox ? '    --no-sandbox) ;;\n' : ''}    *) set -- "$@" "$arg" ;;
  esac
done
exec ${quoted(program)} ${flags.join(' ')} --disable-features="\${off}${addressBar}" "$@"
`;
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
