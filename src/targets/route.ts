import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';

/** The part of a request and response that HTTP/1.1 and HTTP/2 have in common. */
export type TargetRequest = IncomingMessage | Http2ServerRequest;
export type TargetResponse = ServerResponse | Http2ServerResponse;

/** One request for a route. `argument` is the path's second part: the 404 of /status/404. */
export type Exchange = {
  request: TargetRequest;
  response: TargetResponse;
  url: URL;
  argument: string;
  /** Number of requests so far for this path and query, including this one: makes flaky endpoints deterministic. */
  count: number;
  /** Waits milliseconds from now, less if the client disconnects. */
  wait: (ms: number) => Promise<void>;
};
/** Answers one request; a rejection closes the connection. */
export type Route = (exchange: Exchange) => void | Promise<void>;
