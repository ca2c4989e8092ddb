/**
 * Prints the processor time of one TLS handshake of this Node.js with nothing around it, in milliseconds. No check by TLS can
 * cost less. Arguments: port of a TLS server on loopback, number of handshakes.
 */
import { connect, createSecureContext } from 'node:tls';

const [port = 0, count = 0] = process.argv.slice(2).map(Number);
const inFlight = 32;
const secureContext = createSecureContext();

const once = () =>
  new Promise<void>((resolve, reject) => {
    const socket = connect({
      host: '127.0.0.1',
      port,
      servername: 'localhost',
      secureContext,
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
    });
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      socket.destroy();
      resolve();
    });
  });

async function handshakes(number: number): Promise<void> {
  let left = number;
  const lane = async () => {
    while (left-- > 0) await once();
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
}

await handshakes(1000); // warm-up: one-time compilation is not part of a handshake
const before = process.cpuUsage();
await handshakes(count);
const { user, system } = process.cpuUsage(before);
console.log(((user + system) / 1000 / count).toFixed(3));
