import type { PackageManager } from '../place/place.ts';
import { shortened } from '../../../shortened.ts';

/** Finds in an installer's output why it failed. */

const maxLines = 400;
const maxLineLength = 500;

/** The last lines of an output. */
export type OutputTail = { add: (line: string) => void; lines: () => string[] };

export function outputTail(): OutputTail {
  let lines: string[] = [];
  return {
    add: (line) => {
      lines.push(shortened(line.trimEnd(), maxLineLength));
      if (lines.length > 2 * maxLines) lines = lines.slice(-maxLines);
    },
    lines: () => lines.slice(-maxLines),
  };
}

/** How each manager's error lines begin; lines of scripts that it runs begin differently. */
const errorLines: { readonly [N in PackageManager['name']]: RegExp } = {
  npm: /^npm (?:error|ERR!)/,
  pnpm: /^\s*(?:\[?ERR_PNPM_|ERROR\b|(?:E|UNABLE_|SELF_|DEPTH_|CERT_)[A-Z_]{4,}\s)/,
  yarn: /^error\b|^➤ YN\d{4}|^(?:Internal|Request|Usage) ?Error\b/,
  bun: /^error\b/,
};

const dead = new RegExp(
  [
    String.raw`\b(?:ENOTFOUND|ECONNREFUSED|E(?:SOCKET)?TIMEDOUT|EAI_AGAIN|ECONNRESET|ENETUNREACH|EHOSTUNREACH)\b`,
    String.raw`\b(?:ERR_SOCKET_TIMEOUT|ConnectionRefused|FailedToOpenSocket|ConnectionClosed|DNSResolveFailed)\b`,
    String.raw`\b(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE)\b`,
    String.raw`\bUNABLE_TO_GET_ISSUER_CERT_LOCALLY\b|self[- ]signed certificate|unable to get local issuer`,
    String.raw`unable to verify the first certificate|\bnetwork timeout at:`,
  ].join('|'),
  'i',
);

/** The line that shows that no registry could be reached, which is not the project's fault. Null = there is none. */
export function networkTrouble(name: PackageManager['name'], lines: readonly string[]): string | null {
  const found = lines.filter((line) => errorLines[name].test(line) && dead.test(line));
  return found.find((line) => /https?:\/\//.test(line)) ?? found[0] ?? null;
}

const triedAgain = /^\s*WARN .*Will retry in|trouble with your network connection\. Retrying/;

/** The line that shows that an install was still trying to reach a registry when it was killed. Null = it was not. */
export function stillTrying(lines: readonly string[]): string | null {
  return lines.slice(-3).find((line) => triedAgain.test(line)) ?? null;
}

/** Lines of Yarn 2 and newer with progress, headings and advice. */
const yarnNews = /^➤ YN00(?:00|02|06|07|08|13|19|60|61|62|85|86|87|88)/;
const noCause =
  /A complete log of this run|^npm (?:error|ERR!)(?: *| code \d+| path .*| errno .*| command .*)$|^\s*WARN |deprecated/;

/** The output line that most likely names the cause. Null = none looks like one. */
export function causeOf(name: PackageManager['name'], lines: readonly string[]): string | null {
  const errors = lines.filter(
    (line) => errorLines[name].test(line) && !yarnNews.test(line) && !noCause.test(line),
  );
  const code = errors.find((line) => /^npm (?:error|ERR!) code \S+$/.test(line));
  // Yarn prints the errors line by line, and a summary at the end.
  const said = name === 'yarn' ? errors.at(-1) : errors.find((line) => line !== code);
  const generic = lines.find((line) => /\berror\b/i.test(line) && !noCause.test(line));
  const cause = said === undefined ? (code ?? generic) : code === undefined ? said : `${code}; ${said}`;
  return cause?.replaceAll(/(^|; )npm (?:error|ERR!) /g, '$1').trim() ?? null;
}
