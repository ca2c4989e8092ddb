import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseArguments } from '../../../src/commands/command.ts';
import { commandHelp, programHelp } from '../../../src/commands/line/help.ts';
import { manPage } from '../../../src/commands/line/man.ts';
import { runLine } from '../../../src/commands/line/run.ts';
import type { CommandSpec } from '../../../src/commands/line/spec.ts';
import { commandLines } from '../../../src/commands/line/table.ts';
import { FatalError } from '../../../src/errors.ts';

const specs: readonly CommandSpec[] = Object.values(commandLines);

test('the help of the program has a line for each command', () => {
  const help = programHelp();
  for (const { name } of specs) expect(help).toMatch(new RegExp(`^  ${name}\\b.*  \\w`, 'm'));
});

test.each(specs.map((spec) => [spec.name, spec] as const))('the help of %s is complete', (name, spec) => {
  const help = commandHelp(spec);
  expect(help).toMatch(new RegExp(`^usage: location-agent ${name}`));
  expect(help).toContain('\nexamples:\n  # ');
  expect(help).toContain('\nexit codes:\n');
  for (const option of Object.keys(spec.options)) expect(help).toContain(`  --${option}`);
  if (spec.variables.length > 0) expect(help).toContain('  LOG_LEVEL');
  const long = help.split('\n').filter((line) => line.length > 100 && !line.includes('location-agent '));
  expect(long).toEqual([]);
});

test('each row of the table is under its own name', () => {
  expect(specs.map(({ name }) => name)).toEqual(Object.keys(commandLines));
});

describe('wrong arguments', () => {
  const problem = (args: string[], spec: CommandSpec): FatalError => {
    try {
      parseArguments(args, spec);
    } catch (error: unknown) {
      if (error instanceof FatalError) return error;
    }
    throw new Error('no usage error');
  };

  test('an unknown option is answered with the nearest one', () => {
    expect(problem(['--jsno'], runLine)).toMatchObject({
      code: 'USAGE',
      exitCode: 64,
      summary: "Unknown option '--jsno'; did you mean --json?",
      remedy: 'see location-agent run --help',
    });
  });

  test('an option like no other is answered without a guess', () => {
    expect(problem(['--xyzzy-plugh'], runLine).summary).toBe("Unknown option '--xyzzy-plugh'");
  });

  test('a command without arguments refuses them', () => {
    expect(problem(['x'], commandLines.doctor).summary).toBe('doctor takes no arguments, but got "x"');
  });
});

describe('the man page', () => {
  const file = resolve(import.meta.dirname, '../../../man/location-agent.1');

  test('is the one in man/ (npm run man)', () => {
    expect(manPage()).toBe(readFileSync(file, 'utf8'));
  });

  test.skipIf(!existsSync('/usr/bin/mandoc'))('has no fault that mandoc finds', () => {
    const { stdout } = spawnSync('mandoc', ['-T', 'lint', '-W', 'warning', file], { encoding: 'utf8' });
    // It has no date, because it would change without a change of its contents.
    expect(stdout.split('\n').filter((line) => line !== '' && !line.includes('missing date'))).toEqual([]);
  });

  test.skipIf(!existsSync('/usr/bin/mandoc'))('shows commands, options, variables and exit codes', () => {
    const text = execFileSync('mandoc', ['-T', 'utf8', file], { encoding: 'utf8' })
      // Bold is a character, a backspace, and the character again.
      .split('\b')
      .map((part, index, parts) => (index < parts.length - 1 ? part.slice(0, -1) : part))
      .join('');
    for (const { name, options } of specs) {
      expect(text).toContain(`location-agent ${name}`);
      for (const option of Object.keys(options)) expect(text).toContain(`--${option}`);
    }
    expect(text).toContain('SERVICE_ENCRYPTION_KEY, SERVICE_ENCRYPTION_KEY_FILE');
    expect(text).toMatch(/78 +the configuration is not valid/);
  });
});
