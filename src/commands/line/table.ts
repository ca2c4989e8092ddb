import { bundleLine } from './bundle.ts';
import { completionLine } from './completion.ts';
import { devLine } from './dev.ts';
import { doctorLine } from './doctor.ts';
import { applyLine, exportLine, planLine, testLine, validateLine } from './project.ts';
import { runLine } from './run.ts';
import { serviceLine } from './service.ts';
import type { CommandSpec } from './spec.ts';
import { startLine } from './start.ts';

/**
 * All commands, in the order of the help. A new command needs a row here and one in main.ts, which loads its code. The
 * help, the completions, the man page and the pages of commands in docs/ follow (`npm run man`).
 */
export const commandLines = {
  start: startLine,
  service: serviceLine,
  dev: devLine,
  run: runLine,
  bundle: bundleLine,
  plan: planLine,
  apply: applyLine,
  test: testLine,
  export: exportLine,
  validate: validateLine,
  doctor: doctorLine,
  completion: completionLine,
} as const satisfies { readonly [name: string]: CommandSpec };
export type CommandName = keyof typeof commandLines;

export const commandNames = Object.keys(commandLines);

/** Whether `name` is a command. */
export const isCommand = (name: string): name is CommandName => Object.hasOwn(commandLines, name);
