import { AgentError, toError } from '../errors.ts';
import type { Executor } from '../executors/interface/executor.ts';
import { executors } from '../executors/table.ts';
import type { JobType } from '../protocol/check-types.ts';

/**
 * Loads the executors of all types at once, because loading one during a measurement would distort it. If a type
 * cannot be loaded, only its own jobs fail.
 */
export async function loadExecutors(
  types: readonly JobType[],
  fault: (error: Error, message: string) => void,
): Promise<(type: JobType) => Executor<JobType>> {
  const loaded = new Map<JobType, Executor<JobType>>();
  await Promise.all(
    types.map(async (type) => {
      try {
        // The row was chosen by the job's own type.
        loaded.set(type, (await executors[type]()) as Executor<JobType>);
      } catch (error) {
        fault(toError(error), `executor of ${type} cannot be loaded`);
      }
    }),
  );
  return (type) => {
    const executor = loaded.get(type);
    if (executor === undefined)
      throw new AgentError('INTERNAL', `the executor of ${type} could not be loaded`);
    return executor;
  };
}
