import type { VariableGroup } from '../../config/variables.ts';

/** One option of a command. parseArguments, --help, the completions and the man page read the same row. */
export type OptionSpec = {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  readonly default?: boolean;
  /** The placeholder of its value, such as FILE; only for strings. */
  readonly value?: string;
  readonly help: string;
  /** What a shell completes after it: files, folders, or these words. */
  readonly complete?: Completion;
};

export type Completion = 'file' | 'folder' | readonly string[];

/** All that users can be shown about one command. */
export type CommandSpec = {
  readonly name: string;
  /** Words after the name and the options, such as FILE|DIR; empty = none. */
  readonly arguments: string;
  readonly complete: Completion | null;
  /** One line for the list of commands. */
  readonly summary: string;
  /** Paragraphs. */
  readonly description: readonly string[];
  readonly options: { readonly [name: string]: OptionSpec };
  /** Groups of the table of variables that this command reads; empty = it reads none. */
  readonly variables: readonly VariableGroup[];
  readonly examples: readonly { readonly command: string; readonly does: string }[];
  /** The exit codes that the command can have, with its own meaning, or null for the common one. */
  readonly exitCodes: { readonly [code: number]: string | null };
  /** The code in place of 2 when it could not run, because 2 has another meaning. */
  readonly couldNotRun?: number;
};

/** The common meanings of exit codes. */
export const exitMeanings: { readonly [code: number]: string } = {
  0: 'finished',
  1: 'failed',
  2: 'could not run',
  64: 'wrong usage of the command line',
  75: 'the agent stopped and interrupted a run',
  77: 'the service refused the key',
  78: 'the configuration is not valid',
};

/** `run [options] FILE|DIR` */
export function usageOf({ name, options, arguments: words }: CommandSpec): string {
  const hasOptions = Object.keys(options).length > 0;
  return [`location-agent ${name}`, hasOptions ? '[options]' : '', words]
    .filter((part) => part !== '')
    .join(' ');
}

/** `--env NAME=VALUE…` */
export function optionTitle(name: string, { value, multiple }: OptionSpec): string {
  return `--${name}${value === undefined ? '' : ` ${value}`}${multiple === true ? ' …' : ''}`;
}
