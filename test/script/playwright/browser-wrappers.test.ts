import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemChromium } from '../../../src/script/playwright/browsers.ts';
import { chromiumWrapper } from '../../../src/script/playwright/browser-wrappers.ts';

/** The scripts that start the machine's Chromium for checks. */

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'browser-wrappers-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const off = 'WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup';
function put(name: string, script: string): string {
  const file = join(folder, name);
  writeFileSync(file, script, { mode: 0o755 });
  return file;
}

describe.each([true, false])('with a sandbox: %s', (sandbox) => {
  const argumentsOf = (...given: string[]) => {
    const program = put('a program', '#!/bin/sh\nprintf "%s\\n" "$@"\n');
    const { stdout } = spawnSync(put('wrapper', chromiumWrapper(program, sandbox, false)), given);
    return stdout.toString().trimEnd().split('\n');
  };

  test('arguments arrive in their order, and the host decides on the sandbox', () => {
    const given = ['--a b', '--no-sandbox', "--c='$HOME'", '*', '', 'about:blank'];
    const found = argumentsOf(...given);
    const passedOn = given.filter((arg) => !sandbox || arg !== '--no-sandbox');
    expect(found.slice(-passedOn.length)).toEqual(passedOn);
    expect(found.includes('--no-sandbox')).toBe(!sandbox);
  });

  test.each([
    [[], off],
    [['--disable-features=One,Two'], `One,Two,${off}`],
    // Chromium reads the last one.
    [['--disable-features=One', '--disable-features=Two'], `Two,${off}`],
  ])('features are switched off besides %j', (given, expected) => {
    const found = argumentsOf('--x', ...given, '--y').filter((arg) => arg.startsWith('--disable-features'));
    expect(found).toEqual([`--disable-features=${expected}`]);
  });
});

const system = systemChromium.find((path) => existsSync(path));

test.skipIf(system === undefined)('a window has no process but that of its page', async () => {
  const wrapper = put('wrapper', chromiumWrapper(system ?? '', false, false));
  const browser = await chromium.launch({ executablePath: wrapper });
  try {
    const page = await browser.newPage();
    await page.goto('data:text/html,<h1>Shop</h1>');
    const session = await browser.newBrowserCDPSession();
    const { targetInfos } = await session.send('Target.getTargets', { filter: [{}] });
    expect(targetInfos.filter(({ type }) => type !== 'tab').map(({ url }) => url)).toEqual([
      'data:text/html,<h1>Shop</h1>',
    ]);
  } finally {
    await browser.close();
  }
});
