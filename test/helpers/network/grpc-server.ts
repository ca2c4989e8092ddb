import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Value from 'typebox/value';
import type { JobOf } from '../../../src/protocol/job.ts';
import { requestSchemas } from '../../../src/protocol/requests.ts';
import { jobFields } from '../job-fields.ts';

/** The gRPC server of Go (test/fixtures/grpc-server), and jobs for it. */

/** Debian's package golang-google-grpc-dev. */
const sources = '/usr/share/gocode';

export type GoServer = { ports: { plain: number; tls: number; mutual: number }; close: () => Promise<void> };

/** Null = this machine has no Go, or lacks the library. */
export function buildGrpcServer(folder: string): string | null {
  if (!existsSync(join(sources, 'src/google.golang.org/grpc'))) return null;
  const program = join(folder, 'grpc-server');
  try {
    execFileSync('go', ['build', '-o', program, '.'], {
      cwd: join(import.meta.dirname, '../../fixtures/grpc-server'),
      stdio: 'pipe',
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        GO111MODULE: 'off',
        GOPATH: sources,
        GOCACHE: process.env['GRPC_SERVER_CACHE'] ?? join(tmpdir(), 'grpc-server-go-cache'),
      },
    });
  } catch {
    return null;
  }
  return program;
}

/** Starts it. `files`: PEM of the certificate, its key, and the authority of clients. */
export async function startGrpcServer(
  program: string,
  files: { cert: string; key: string; clients: string },
): Promise<GoServer> {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-server-'));
  const paths = [files.cert, files.key, files.clients].map((content, index) => {
    const path = join(folder, `${index}.pem`);
    writeFileSync(path, content);
    return path;
  });
  const child = spawn(program, paths, { stdio: ['pipe', 'pipe', 'inherit'] });
  const line = await new Promise<string>((resolve, reject) => {
    let text = '';
    child.once('error', reject);
    child.once('close', () => reject(new Error('the gRPC server has ended')));
    child.stdout.on('data', (part: Buffer) => {
      text += part.toString();
      if (text.includes('\n')) resolve(text);
    });
  });
  return {
    ports: JSON.parse(line) as GoServer['ports'], // as main.go prints it
    close: async () => {
      const closed = new Promise((resolve) => child.once('close', resolve));
      child.stdin.end();
      await closed;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

type Job = JobOf<'GRPC'>;

/** A job whose request has all its defaults, in plain text unless `grpcConfig` asks for TLS. */
export function grpcJob(
  request: { port: number | string } & { [field: string]: unknown },
  job: Partial<Job> = {},
): Job {
  const { grpcConfig = {}, ...rest } = request as { grpcConfig?: object } & typeof request;
  const complete = Value.Default(requestSchemas.GRPC, {
    url: '127.0.0.1',
    ...rest,
    grpcConfig: { tls: false, ...grpcConfig },
  }) as Job['request'];
  return {
    ...jobFields,
    lane: 'uptime',
    clientCertificates: [],
    ...job,
    checkType: 'GRPC',
    request: complete,
  };
}
