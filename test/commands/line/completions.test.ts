import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { completionScript } from '../../../src/commands/line/completions.ts';
import type { Shell } from '../../../src/commands/line/completion.ts';
import { commandNames } from '../../../src/commands/line/table.ts';

/** The completion scripts, in the real shells. A shell that is not installed is one skipped test. */

const folder = mkdtempSync(join(tmpdir(), 'completions-'));
beforeAll(() => {
  mkdirSync(join(folder, 'my suite'));
  writeFileSync(join(folder, 'my check.json'), '');
});
afterAll(() => rmSync(folder, { recursive: true }));

const has = (shell: string): boolean => existsSync(`/usr/bin/${shell}`) || existsSync(`/bin/${shell}`);

function inShell(shell: Shell, code: string): string[] {
  const script = join(folder, `location-agent.${shell}`);
  writeFileSync(script, completionScript(shell));
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, TERM: 'dumb', SCRIPT: script };
  const quiet = { bash: ['--norc'], zsh: ['-f'], fish: ['--no-config'] }[shell];
  const output = execFileSync(shell, [...quiet, '-c', code], { cwd: folder, env, encoding: 'utf8' });
  return output.split('\n').filter((line) => line !== '');
}

/** What bash offers after these words; the last one is being typed. */
function bashOffers(...words: string[]): string[] {
  const quoted = words.map((word) => `'${word}'`).join(' ');
  return inShell(
    'bash',
    `. "$SCRIPT"; COMP_WORDS=(location-agent ${quoted}); COMP_CWORD=${words.length}; _location_agent; printf '%s\\n' "\${COMPREPLY[@]}"`,
  );
}

describe.skipIf(!has('bash'))('bash', () => {
  test('completes commands', () => {
    expect(bashOffers('')).toEqual([...commandNames, '--help', '--version']);
    expect(bashOffers('do')).toEqual(['doctor']);
  });

  test('completes options of the command, their values, and paths with spaces', () => {
    expect(bashOffers('doctor', '--')).toEqual(['--json', '--help']);
    expect(bashOffers('run', '--type', '')).toEqual(['BROWSER', 'MULTI_STEP']);
    expect(bashOffers('run', 'my')).toEqual(expect.arrayContaining(['my check.json', 'my suite']));
    expect(bashOffers('bundle', 'my')).toEqual(['my suite']);
    expect(bashOffers('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  });
});

describe.skipIf(!has('zsh'))('zsh', () => {
  test('loads the script without a mistake, and registers it', () => {
    const code = 'autoload -Uz compinit; compinit -u -D; . "$SCRIPT"; print -r -- ${_comps[location-agent]}';
    expect(inShell('zsh', code)).toEqual(['_location_agent']);
  });

  test('offers commands and options', () => {
    // A terminal of its own, in which a second zsh completes what is typed.
    const code = [
      'zmodload zsh/zpty',
      "zpty -b inner 'PS1= TERM=dumb zsh -f -i'",
      'zpty -w inner \'autoload -Uz compinit; compinit -u -D; LISTMAX=1000; . "$SCRIPT"; echo rea""dy\'',
      "zpty -r inner line '*ready*'",
      'zpty -w -n inner $\'location-agent doc\\t --js\\t; echo e""nd\\n\'',
      "zpty -r inner line '*echo e*'",
      'print -r -- "$line"',
    ].join('\n');
    // The line editor redraws parts of the line, so what it shows has no fixed order of characters in between.
    const shown = stripVTControlCharacters(inShell('zsh', code).join(' '));
    expect(shown).toMatch(/doc.*tor/s);
    expect(shown).toContain('--json');
  });
});

describe.skipIf(!has('fish'))('fish', () => {
  const offers = (line: string) =>
    inShell('fish', `source $SCRIPT; complete -C '${line}'`).map((each) => each.split('\t')[0]);

  test('completes commands, options and values', () => {
    expect(offers('location-agent ')).toEqual(expect.arrayContaining([...commandNames]));
    expect(offers('location-agent doctor --')).toEqual(expect.arrayContaining(['--json', '--help']));
    expect(offers('location-agent run --type ')).toEqual(expect.arrayContaining(['BROWSER', 'MULTI_STEP']));
    expect(offers('location-agent completion ')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']));
  });
});
