/** `host:port`, `[::1]:port` or, with a default, a bare host; null = it is none. */
export function hostPort(target: string, defaultPort: number | null): { host: string; port: number } | null {
  const bracketed = /^\[([^[\]]+)\](?::(\d+))?$/.exec(target);
  const plain = /^([^:[\]]*)(?::(\d+))?$/.exec(target);
  const match = bracketed ?? plain;
  // A bare address of IPv6.
  if (match === null)
    return defaultPort !== null && /^[0-9a-f:.%]+$/i.test(target)
      ? { host: target, port: defaultPort }
      : null;
  const port = match[2] === undefined ? defaultPort : Number(match[2]);
  const host = match[1] ?? '';
  return port === null || port < 1 || port > 65_535 || host === '' ? null : { host, port };
}
