/** The fatal lines of a program's standard error: `code: message: remedy`. Other lines of the log are left out. */
export function fatalLines(stderr: string): string[] {
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('{"level":"FATAL"'))
    .map((line) => JSON.parse(line) as { code: string; msg: string; remedy: string }) // a line of our own log
    .map(({ code, msg, remedy }) => `${code}: ${msg}: ${remedy}`);
}
