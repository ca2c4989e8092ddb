/**
 * Milliseconds of processor time that synchronous work takes in this process: however busy the machine is, they are the same.
 * For work whose cost must not grow with what a customer or a target sends.
 */
export function processorMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
