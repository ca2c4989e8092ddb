import { createServer } from 'node:tls';
import { connect } from 'node:tls';
import { expect, test } from 'vitest';
import { certificateWithChain, readLeafOnly } from '../../src/executors/http/leaf-certificate.ts';
import { createAuthority } from '../../src/targets/certificates.ts';
import { listening } from '../helpers/network/http.ts';

test("Node checks the host's name with the method that readLeafOnly replaces", async () => {
  const authority = await createAuthority({ commonName: 'Test authority' });
  const day = 86_400_000;
  const { cert, key } = await authority.issue({
    commonName: 'good.test',
    notBefore: new Date(Date.now() - day),
    notAfter: new Date(Date.now() + day),
  });
  const server = await listening(createServer({ cert: cert + authority.certificate.cert, key }));
  const ca = authority.certificate.cert;
  const socket = connect({ host: '127.0.0.1', port: server.port, servername: 'good.test', ca });
  readLeafOnly(socket);
  const replaced = socket.getPeerCertificate.bind(socket);
  const asked: unknown[] = [];
  const seen = (detailed?: boolean) => {
    asked.push(detailed);
    return replaced(detailed);
  };
  socket.getPeerCertificate = seen as typeof socket.getPeerCertificate; // whose overload promises a chain
  await new Promise<void>((resolve, reject) => {
    socket.once('secureConnect', () => resolve());
    socket.once('error', reject);
  });
  try {
    // Node asks for the whole chain.
    expect(asked).toEqual([true]);
    expect([socket.authorized, replaced().subject.CN]).toEqual([true, 'good.test']);
    expect(replaced(true)).not.toHaveProperty('issuerCertificate');
    expect(certificateWithChain(socket).issuerCertificate.subject.CN).toBe('Test authority');
  } finally {
    socket.destroy();
    await server.close();
  }
});
