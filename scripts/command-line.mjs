/** Options of the project's own programs: what is wrong with them is said in one line, with exit code 64. */
import { parseArgs } from 'node:util';

/** Ends `program` for a mistake in how it was called. */
export function misused(program, mistake) {
  process.stderr.write(`${program}: ${mistake}\n`);
  process.exit(64);
}

/** parseArgs of Node; does not return where an option is unknown or lacks its value, or a name is given that is not taken. */
export function readCommandLine(program, config) {
  try {
    return parseArgs(config);
  } catch (error) {
    if (!String(error.code).startsWith('ERR_PARSE_ARGS')) throw error;
    // The rest tells how to pass names that begin with a dash: there are none here.
    const [mistake] = error.message.split(/\. (?:To|Did)|\n/);
    return misused(program, mistake.replace(/\.$/, ''));
  }
}
