/** A URL check's result as agents report it: headers, phases and one assertion. */
export function urlResult(
  job: {
    jobId: string;
    leaseToken: string;
    attempt: number;
    sequenceId: string;
    checkId: string;
    runLocation: string;
  },
  {
    responseTime,
    startedAt,
    stoppedAt,
    headerText,
    details = {},
  }: {
    responseTime: number;
    /** Milliseconds since the epoch. */
    startedAt: number;
    stoppedAt: number;
    /** Begins the values of the response headers. */
    headerText: string;
    /** In addition to the usual ones. */
    details?: object;
  },
): object {
  const { jobId, leaseToken, attempt, sequenceId, checkId, runLocation } = job;
  const headers = Object.fromEntries(
    Array.from({ length: 12 }, (_, n) => [`x-header-${n}`, `${headerText} of header ${n}`]),
  );
  return {
    jobId,
    leaseToken,
    attempt,
    sequenceId,
    checkId,
    checkType: 'URL',
    resultType: 'FINAL',
    status: 'passed',
    hasFailures: false,
    hasErrors: false,
    isDegraded: false,
    overMaxResponseTime: false,
    isCancelled: false,
    responseTime,
    startedAt: new Date(startedAt).toISOString(),
    stoppedAt: new Date(stoppedAt).toISOString(),
    runLocation,
    attempts: 0,
    reason: null,
    assertions: [
      {
        source: 'STATUS_CODE',
        property: '',
        comparison: 'EQUALS',
        target: '200',
        regex: null,
        actual: '200',
        error: null,
      },
    ],
    timings: {
      dns: 1.2,
      connect: 10.5,
      tls: 22.1,
      firstByte: 31.4,
      download: 2.2,
      remainder: 0.4,
      total: 67.8,
    },
    details: {
      request: { method: 'GET', url: 'https://shop.example.com/api/v1/health?full=1' },
      response: { status: 200, statusText: 'OK', headers, bodyBytes: 1532 },
      addresses: [{ address: '10.1.2.3', family: 4 }],
      ...details,
    },
    artifacts: [],
    log: [],
    agentVersion: '1.0.0',
  };
}
