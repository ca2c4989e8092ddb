import { parseArgs, type ParseArgsConfig } from 'node:util';
import type { Environment } from '../config/read.ts';
import { exitCodes, FatalError, toError } from '../errors.ts';

/** What main passes to a command besides its arguments. */
export type CommandContext = {
  env: Environment;
  stdout: (text: string) => void;
  stderr: (text: string) => void;
};

/**
 * Runs a command to completion and resolves with the exit code. A FatalError is printed as one line and sets the exit
 * code.
 */
export type Command = (args: readonly string[], context: CommandContext) => Promise<number>;

/** An error in the command line: one line and exit code 64. */
export function usageError(message: string): FatalError {
  return new FatalError('CONFIGURATION', `${message}; see location-agent --help`, {
    exitCode: exitCodes.usage,
  });
}

/** Parses options and positional arguments strictly: an unknown option is a usage error. */
export function parseArguments<T extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: T,
) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error: unknown) {
    throw usageError(toError(error).message.split('. ')[0] ?? 'wrong arguments');
  }
}
