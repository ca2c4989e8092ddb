import { useEffect, useState } from 'preact/hooks';
import { get, send } from '../base/service.ts';
import { Button } from '../parts/button.tsx';
import { sayFailed } from '../parts/messages.tsx';
import { Status } from '../parts/status.tsx';
import type { Notification } from './types.ts';

/** Sends a test message to a channel and shows what the receiver answered. */
export function TestMessage({ channelId, name }: { channelId: number; name: string }) {
  const [id, setId] = useState<string | null>(null);
  const [result, setResult] = useState<Notification | null>(null);
  const isOpen = id !== null && (result === null || result.status === 'IN_PROGRESS');
  useEffect(() => {
    if (id === null || !isOpen) return;
    const ending = new AbortController();
    const read = () =>
      get<Notification>(`/v1/alert-notifications/${id}`, ending.signal).then(setResult, () => undefined);
    const timer = setInterval(() => void read(), 700);
    return () => {
      clearInterval(timer);
      ending.abort();
    };
  }, [id, isOpen]);
  const start = async () => {
    setResult(null);
    try {
      const path = `/v1/alert-channels/${channelId}/test`;
      setId((await send<{ alertNotificationId: string }>('POST', path, {})).alertNotificationId);
    } catch (error) {
      setId(null);
      sayFailed(error);
    }
  };
  const isTried = result !== null && (result.attempts > 0 || result.status !== 'IN_PROGRESS');
  return (
    <div class="test-message">
      <Button
        label={`Send a test message to ${name}`}
        isOff={isOpen && !isTried}
        onClick={() => void start()}
      >
        Send a test message
      </Button>
      <div aria-live="polite">
        {id !== null && !isTried && <Status status="running" word="sending" />}
        {isTried && (
          <>
            {result.status === 'SUCCESS' ? (
              <Status status="passed" word="delivered" />
            ) : result.status === 'IN_PROGRESS' ? (
              <Status status="degraded" word="is tried again" />
            ) : (
              <Status status="failed" word="not delivered" />
            )}{' '}
            <code class="long">{result.notificationResult}</code>
          </>
        )}
      </div>
    </div>
  );
}
