import { jsonStyle, readableLine, type LogStyle } from './log-line.ts';
import { pino, type DestinationStream, type Logger } from 'pino';

export type Log = Logger<'log'>;

/** LOG_LEVEL's names, least urgent first. */
export type LogLevel = 'DEBUG' | 'LOG' | 'INFO' | 'WARN' | 'ERROR';

// LOG lies between DEBUG and INFO; pino's numbers are debug 20, info 30.
const pinoLevels: { readonly [L in LogLevel]: string } = {
  DEBUG: 'debug',
  LOG: 'log',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
};

/**
 * The program's log: lines of JSON or text on standard error (or `destination`). Every line passes `scrub` before it is written,
 * so that no secret leaves through the log. A run's own log belongs to its result, not here.
 */
export function createLog(options: {
  level: LogLevel;
  scrub: (line: string) => string;
  destination?: DestinationStream;
  /** Default: JSON. */
  style?: LogStyle | undefined;
}): Log {
  const { format, colour } = options.style ?? jsonStyle;
  const styled = (line: string): string =>
    format === 'json' ? line : `${readableLine(line.trimEnd(), '', colour)}\n`;
  const sink = options.destination ?? { write: (line: string) => void process.stderr.write(line) };
  return pino(
    {
      level: pinoLevels[options.level],
      customLevels: { log: 25 },
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label.toUpperCase() }) },
    },
    { write: (line: string) => sink.write(styled(options.scrub(line))) },
  );
}
