import type { PackageManager } from './suite-place.ts';

/** What an installer's output says about why it failed. */

const mostLines = 400;
const longestLine = 500;

/** The last lines of an output. */
export type OutputTail = { add: (line: string) => void; lines: () => string[] };

export function outputTail(): OutputTail {
  let lines: string[] = [];
  return {
    add: (line) => {
      lines.push(line.trimEnd().slice(0, longestLine));
      if (lines.length > 2 * mostLines) lines = lines.slice(-mostLines);
    },
    lines: () => lines.slice(-mostLines),
  };
}

/** How each manager begins the lines that tell errors; lines of scripts that it runs begin otherwise. */
const errorLines: { readonly [N in PackageManager['name']]: RegExp } = {
  npm: /^npm (?:error|ERR!)/,
  pnpm: /ERR_PNPM_|^\[?\s*(?:WARN|ERROR|ERR)\b|^\s*WARN /,
  yarn: /^error\b|^info There appears to be trouble|^➤ YN\d{4}|^(?:Internal Error|RequestError|Usage Error)\b/,
  bun: /^error\b|^(?:ConnectionRefused|FailedToOpenSocket|ConnectionClosed|Timeout|DNS\w*)\b/,
};

const dead =
  /\b(?:ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_GET_ISSUER_CERT_LOCALLY|UNABLE_TO_VERIFY_LEAF_SIGNATURE|ConnectionRefused|FailedToOpenSocket|ConnectionClosed|DNSResolveFailed|self[- ]signed certificate|unable to (?:get local issuer|verify the first) certificate|trouble with your network connection)\b/i;

/** The line that tells that no registry could be reached: nothing that the project could be blamed for. Null = there is none. */
export function networkTrouble(name: PackageManager['name'], lines: readonly string[]): string | null {
  return lines.find((line) => errorLines[name].test(line) && dead.test(line)) ?? null;
}

/** Lines of Yarn 2 and newer that tell progress, headings and advice. */
const yarnNews = /^➤ YN00(?:00|02|06|07|08|13|19|60|61|62|85|86|87|88)/;
const noCause =
  /A complete log of this run|^npm (?:error|ERR!)(?: *| code \d+| path .*| errno .*| command .*)$|^\s*WARN |deprecated/;

/** The line, of an output, that most likely names the cause. Null = none looks like one. */
export function causeOf(name: PackageManager['name'], lines: readonly string[]): string | null {
  const errors = lines.filter(
    (line) => errorLines[name].test(line) && !yarnNews.test(line) && !noCause.test(line),
  );
  const code = errors.find((line) => /^npm (?:error|ERR!) code \S+$/.test(line));
  const said = errors.find((line) => line !== code);
  const generic = lines.find((line) => /\berror\b/i.test(line) && !noCause.test(line));
  const cause = said === undefined ? (code ?? generic) : code === undefined ? said : `${code}; ${said}`;
  return cause?.replaceAll(/(^|; )npm (?:error|ERR!) /g, '$1').trim() ?? null;
}
