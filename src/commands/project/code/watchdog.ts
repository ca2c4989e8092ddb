import { Session } from 'node:inspector';
import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { fieldsOf, itemsOf } from '../../../json-values.ts';
import { hangDescriptor, type Hang, type Order } from './messages.ts';
import { placeBelow } from './places.ts';

/**
 * A thread next to the one that loads files. If a file takes too long, it reads where the main thread is, writes that,
 * and kills the process. An endless loop can be ended in no other way.
 */

const { folder, limitMs, lookMs } = workerData as Order; // given by child.ts

let timer: NodeJS.Timeout | undefined;
parentPort?.on('message', (file: string) => {
  clearTimeout(timer);
  timer = setTimeout(() => look(file), limitMs);
});

function look(file: string): void {
  const end = (place: string | null): void => {
    const hang: Hang = { file, place };
    try {
      writeSync(hangDescriptor, JSON.stringify(hang));
    } finally {
      process.kill(process.pid, 'SIGKILL');
    }
  };
  // A main thread that waits has no place.
  setTimeout(() => end(null), lookMs);
  const session = new Session();
  session.connectToMainThread();
  const scripts = new Map<unknown, unknown>();
  session.on('Debugger.scriptParsed', ({ params }) => scripts.set(params.scriptId, params.url));
  session.on('Debugger.paused', ({ params }) => {
    for (const frame of itemsOf(fieldsOf(params)['callFrames']).map(fieldsOf)) {
      const { scriptId, lineNumber } = fieldsOf(frame['location']);
      const place = placeBelow(folder, `${String(scripts.get(scriptId))}:${Number(lineNumber) + 1}`);
      if (place !== null) return end(place);
    }
    return end(null);
  });
  session.post('Debugger.enable');
  session.post('Debugger.pause');
}
