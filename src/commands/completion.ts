import { exitCodes } from '../errors.ts';
import { parseArguments, usageError, type Command } from './command.ts';
import { completionLine, shells } from './line/completion.ts';
import { completionScript } from './line/completions.ts';

/** `completion bash|zsh|fish`: prints the completion script of a shell. */
export const completion: Command = async (args, { stdout }) => {
  const { positionals } = parseArguments(args, completionLine);
  const shell = shells.find((name) => name === positionals[0]);
  if (shell === undefined || positionals.length > 1) {
    throw usageError(`completion needs one shell: ${shells.join(', ')}`, completionLine);
  }
  stdout(completionScript(shell));
  return exitCodes.done;
};
