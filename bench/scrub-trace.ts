import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { scrubArtifact } from '../src/secrets/files/scrub-artifact.ts';
import { sampleSecrets, seededRandom } from './scrub/sample-text.ts';
import { writeSampleTrace } from './scrub/sample-trace.ts';

/**
 * Scrubs a trace zip of 150 MB (unpacked) of 50 secrets while the main thread continues. Measured: seconds, memory above idle, and
 * the longest stall of the main thread. `few`: secrets in one line of a thousand, as in most traces. `dense`: secrets in every line,
 * so that everything has to be read, written and packed again.
 */

const megabyte = 1_000_000;
const secrets = sampleSecrets(50, seededRandom(5));

type Measured = {
  cpuSeconds: number;
  seconds: number;
  aboveIdleMegabytes: number;
  stallMs: number;
  masked: number;
  packedIn: number;
  packedOut: number;
};

async function measure(file: string): Promise<Measured> {
  const idle = process.memoryUsage.rss();
  let peak = idle;
  const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 10);
  const delays = monitorEventLoopDelay({ resolution: 2 });
  await sleep(100);
  delays.enable();
  const cpu = process.cpuUsage();
  const start = performance.now();
  const { maskedCount, bytesOut } = await scrubArtifact(file, `${file}.out`, {
    name: 'trace.zip',
    type: 'trace',
    contentType: 'application/zip',
    secrets,
  });
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  delays.disable();
  clearInterval(watch);
  return {
    seconds,
    cpuSeconds: (user + system) / 1e6,
    aboveIdleMegabytes: (peak - idle) / megabyte,
    stallMs: delays.max / 1e6,
    masked: maskedCount,
    packedIn: statSync(file).size,
    packedOut: bytesOut,
  };
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'scrub-trace-'));
  try {
    const figures: { [name: string]: Measured } = {};
    for (const [name, every] of [
      ['few', 1000],
      ['dense', 1],
    ] as const) {
      const file = join(folder, `${name}.zip`);
      await writeSampleTrace(file, { unpackedBytes: 150 * megabyte, every, secrets }, seededRandom(9));
      const child = spawnSync(process.execPath, [process.argv[1] ?? '', file], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const measured = JSON.parse(child.stdout) as Measured; // this program's own output
      figures[name] = measured;
      console.log(
        `${name.padEnd(6)} ${measured.seconds.toFixed(2)} s (${measured.cpuSeconds.toFixed(2)} s of CPU), ${Math.round(measured.aboveIdleMegabytes)} MB above idle, ` +
          `main thread at most ${measured.stallMs.toFixed(1)} ms late, ${measured.masked} masks, ` +
          `${(measured.packedIn / megabyte).toFixed(1)} MB packed became ${(measured.packedOut / megabyte).toFixed(1)} MB`,
      );
    }
    const worst = Math.max(...Object.values(figures).map(({ seconds }) => seconds));
    const memory = Math.max(...Object.values(figures).map(({ aboveIdleMegabytes }) => aboveIdleMegabytes));
    const machine = `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`;
    console.log(
      JSON.stringify({
        name: 'scrub-trace',
        unit: 's',
        ours: Math.round(worst * 100) / 100,
        limit: 6,
        memoryMegabytes: Math.round(memory),
        memoryLimit: 150,
        stallMs: Math.round(Math.max(...Object.values(figures).map(({ stallMs }) => stallMs))),
        machine,
      }),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const file = process.argv[2];
if (file === undefined) await main();
else console.log(JSON.stringify(await measure(file)));
