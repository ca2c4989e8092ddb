import { parseArgs } from 'node:util';
import type { Environment } from '../config/read.ts';
import { exitCodes, FatalError, toError } from '../errors.ts';
import type { LogStyle } from '../log-line.ts';
import { nearestName } from '../nearest-name.ts';
import type { CommandSpec } from './line/spec.ts';

/** What main passes to a command besides its arguments. */
export type CommandContext = {
  env: Environment;
  stdout: (text: string) => void;
  stderr: (text: string) => void;
  /** How log lines look on standard error; default: JSON. */
  logStyle?: LogStyle;
};

/**
 * Runs a command to completion and resolves with the exit code. A FatalError is printed as one line and sets the exit
 * code.
 */
export type Command = (args: readonly string[], context: CommandContext) => Promise<number>;

/** An error in the command line of a command (absent = of the program): exit code 64. */
export function usageError(message: string, spec?: { readonly name: string }): FatalError {
  return new FatalError('USAGE', message, {
    exitCode: exitCodes.usage,
    remedy: `see location-agent ${spec === undefined ? '' : `${spec.name} `}--help`,
  });
}

type Options = CommandSpec['options'];

/**
 * Parses the options and positional arguments of a command. An unknown option is a usage error that names the nearest
 * one, and so is an argument of a command that takes none.
 */
export function parseArguments<const T extends Options>(
  args: readonly string[],
  spec: { readonly name: string; readonly arguments: string; readonly options: T },
) {
  const parsed = parsedBy(args, spec);
  const [first] = parsed.positionals;
  if (spec.arguments === '' && first !== undefined) {
    throw usageError(`${spec.name} takes no arguments, but got "${first}"`, spec);
  }
  return parsed;
}

function parsedBy<const T extends Options>(
  args: readonly string[],
  spec: { readonly name: string; readonly options: T },
) {
  try {
    return parseArgs({ args: [...args], options: spec.options, allowPositionals: true, strict: true });
  } catch (error: unknown) {
    const message = toError(error).message.split('. ')[0] ?? 'wrong arguments';
    const typed = /^Unknown option '(--?[^']*)'/.exec(message)?.[1];
    const nearest =
      typed === undefined
        ? null
        : nearestName(
            typed,
            [...Object.keys(spec.options), 'help'].map((name) => `--${name}`),
          );
    throw usageError(nearest === null ? message : `${message}; did you mean ${nearest}?`, spec);
  }
}
