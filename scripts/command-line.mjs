/** Parses the options of the project's scripts. A mistake is reported in one line, with exit code 64. */
import { parseArgs } from 'node:util';

/** Prints a usage mistake of `program` and exits with code 64. */
export function misused(program, mistake) {
  process.stderr.write(`${program}: ${mistake}\n`);
  process.exit(64);
}

/** Node's parseArgs. Exits with code 64 if an option is unknown or has no value, or if a positional argument is not allowed. */
export function readCommandLine(program, config) {
  try {
    return parseArgs(config);
  } catch (error) {
    if (!String(error.code).startsWith('ERR_PARSE_ARGS')) throw error;
    // The rest of the message explains how to pass arguments that begin with a dash, which no script accepts.
    const [mistake] = error.message.split(/\. (?:To|Did)|\n/);
    return misused(program, mistake.replace(/\.$/, ''));
  }
}
