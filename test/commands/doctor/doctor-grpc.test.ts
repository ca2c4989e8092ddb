import tls from 'node:tls';
import { expect, test } from 'vitest';
import { runProbes } from '../../../src/commands/doctor/finding.ts';
import { grpcProbes } from '../../../src/commands/doctor/grpc.ts';

test('calls are made in plain text and by TLS', async () => {
  expect(await runProbes(grpcProbes(), 10_000)).toEqual([
    {
      name: 'gRPC',
      status: 'ok',
      message: `HTTP/2 in plain text and by TLS (nghttp2 ${process.versions['nghttp2']})`,
      remedy: null,
    },
  ]);
});

test('a machine that cannot be reached by itself is named', async () => {
  // An address that this machine does not have.
  const [finding] = await runProbes(grpcProbes('192.0.2.1'), 10_000);
  expect(finding).toMatchObject({
    status: 'problem',
    message: expect.stringMatching(/^a call to this machine in plain text failed: .*EADDRNOTAVAIL/) as string,
    remedy: expect.stringContaining('gRPC checks') as string,
  });
});

test('an OpenSSL that refuses the connection of this probe is no firewall', async () => {
  const before = tls.DEFAULT_MIN_VERSION;
  tls.DEFAULT_MIN_VERSION = 'TLSv1.3';
  try {
    expect(await runProbes(grpcProbes(), 10_000)).toMatchObject([
      {
        status: 'note',
        message: expect.stringMatching(/refuses .* \(ERR_SSL_\w+\)$/) as string,
        remedy: null,
      },
    ]);
  } finally {
    tls.DEFAULT_MIN_VERSION = before;
  }
});

test('no port stays open', async () => {
  // Other files of this process may have left some, which close at some time.
  const open = () =>
    process.getActiveResourcesInfo().filter((name) => /TCPServerWrap|TLSWrap|TCPSocketWrap/.test(name))
      .length;
  const before = open();
  await runProbes(grpcProbes(), 10_000);
  await expect.poll(open, { timeout: 10_000 }).toBeLessThanOrEqual(before);
});
